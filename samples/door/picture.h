/* samples/door/picture.h - a digit of 8 x 8 pixels from 0 to 16: the input of samples/digits */
static const float picture[8][8] = {
	{ 0, 0, 0, 3, 12, 12, 2, 0 },
	{ 0, 0, 7, 15, 16, 16, 0, 0 },
	{ 0, 4, 15, 9, 14, 16, 3, 0 },
	{ 0, 2, 0, 0, 14, 16, 0, 0 },
	{ 0, 0, 0, 0, 14, 16, 0, 0 },
	{ 0, 0, 0, 0, 15, 13, 0, 0 },
	{ 0, 0, 0, 0, 16, 14, 1, 0 },
	{ 0, 0, 0, 3, 16, 13, 2, 0 },
};
