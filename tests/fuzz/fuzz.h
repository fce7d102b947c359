/* tests/fuzz/fuzz.h - the entry point for libFuzzer and for the plain driver */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#endif
