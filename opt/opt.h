/* opt/opt.h - graph in, better graph out */
#ifndef OPT_H
#define OPT_H

#include "../frontend/frontend.h"

#endif
