/* rt/ops/tsample.h - coordinates, taps and weights of interpolation, grid_sample and roi_align; part of tmath.h
 *
 * Coordinates are computed in double. `single`: each result is rounded to float, which gives the bits of the same
 * arithmetic in float, and leaves compilers no product and sum to contract. So floors are those of ATen's kernels for
 * the CPU. A tap is the index of an input. -1: it is outside and counts as zero.
 */
#ifndef RT_OPS_TSAMPLE_H
#define RT_OPS_TSAMPLE_H

#define ts_round(x, single) ((single) ? (double)(float)(x) : (x))

/* Keys' cubic kernel at distance x, 0 or more, for the two inner taps and the two outer ones. a is -0.75, or -0.5 if
 * antialiased. */
TMATH double ts_inner(double x, double a)
{
	return ((a + 2) * x - (a + 3)) * x * x + 1;
}

TMATH double ts_outer(double x, double a)
{
	return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

TMATH double ts_keys(double x, double a)
{
	x = fabs(x);
	return x <= 1 ? ts_inner(x, a) : x < 2 ? ts_outer(x, a) : 0;
}

/* ---- interpolation: `how` is a kind and flags -------------------------------------------------------------------- */

/* Kinds are those of VzKind (vscratch.h). Those from TS_SMOOTH on are antialiased. */
enum { TS_LINEAR, TS_CUBIC, TS_SMOOTH, TS_SMOOTH_CUBIC = 3, TS_SMOOTH_LANCZOS = 4, TS_KIND = 7 };
enum { TS_ALIGN = 8, TS_SINGLE = 16 };

/* Input of nearest interpolation for output o, in float for all dtypes. given: the call's scale factor, or 0. */
TMATH double t_resize_nearest(double o, double in, double out, double given, int exact)
{
	const float scale = given > 0 ? (float)(1.0 / given) : (float)in / (float)out;
	const float first = exact ? (float)o + 0.5f : (float)o;
	const double at = in == out && given <= 0 ? o : floor((double)(first * scale));

	return at < in - 1 ? at : in - 1;
}

/* Inputs per output. */
TMATH double t_resize_scale(double in, double out, double given, int how)
{
	const int single = how & TS_SINGLE;

	if ((how & TS_KIND) == TS_LINEAR && in == out)
		return 1;
	if (how & TS_ALIGN)
		return out > 1 ? ts_round(ts_round(in - 1, single) / ts_round(out - 1, single), single) : 0;
	return given > 0 ? ts_round(1.0 / given, single)
			 : ts_round(ts_round(in, single) / ts_round(out, single), single);
}

/* Coordinate of output o among the inputs. That of antialiased kinds is the centre of the filter. */
TMATH double t_resize_source(double o, double scale, int how)
{
	const double half = how & TS_ALIGN ? 0 : 0.5, at = scale * (o + half) - half;
	const int single = how & TS_SINGLE;

	if ((how & TS_KIND) >= TS_SMOOTH)
		return ts_round(scale * ts_round(ts_round(o, single) + 0.5, single), single);
	return (how & TS_KIND) == TS_LINEAR && at < 0 ? 0 : at;
}

/* Radius of an antialiasing filter in inputs. */
TMATH double ts_support(double scale, int how)
{
	const double reach = (how & TS_KIND) - TS_SMOOTH + 1;

	return ts_round(scale > 1 ? reach * scale : reach, how & TS_SINGLE);
}

/* Index of the first tap. Those of kinds that are not antialiased may be outside of the inputs. */
TMATH double t_resize_first(double source, double scale, double in, int how)
{
	const int kind = how & TS_KIND, single = how & TS_SINGLE;
	double at = floor(source);

	if (kind == TS_LINEAR)
		return at < in - 1 ? at : in - 1;
	if (kind == TS_CUBIC)
		return at - 1;
	at = ts_round(ts_round(source - ts_support(scale, how), single) + 0.5, single);
	return at > 0 ? floor(at) : 0;
}

/* Number of taps. */
TMATH double t_resize_count(double source, double scale, double in, int how)
{
	const int kind = how & TS_KIND, single = how & TS_SINGLE;
	double end, n;

	if (kind < TS_SMOOTH)
		return kind == TS_LINEAR ? 2 : 4;
	end = floor(ts_round(ts_round(source + ts_support(scale, how), single) + 0.5, single));
	n = (end < in ? end : in) - t_resize_first(source, scale, in, how);
	return n > 0 ? n : 0;
}

/* Weight of the tap with index `at`, which is not clamped yet. Those of antialiased kinds do not add up to 1. */
TMATH double t_resize_weight(double at, double source, double scale, double in, int how)
{
	const int kind = how & TS_KIND, single = how & TS_SINGLE;
	const double inverse = ts_round(scale > 1 ? 1 / scale : 1, single);
	double x = source - floor(source);

	if (kind == TS_LINEAR) {
		const double first = t_resize_first(source, scale, in, how);

		x = source - first < 1 ? ts_round(source - first, single) : 1;
		return at == first ? ts_round(1 - x, single) : x;
	}
	if (kind == TS_CUBIC)
		return ts_keys(ts_round(x, single) - (at - floor(source)), -0.75);
	x = ts_round(ts_round(ts_round(at - source, single) + 0.5, single) * inverse, single);
	if (kind == TS_SMOOTH_CUBIC)
		return ts_keys(x, -0.5);
	if (kind == TS_SMOOTH_LANCZOS)
		return fabs(x) < 3 ? t_sinc(x) * t_sinc(x / 3) : 0;
	return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* ---- grid_sample: `how` is mode + 4 * padding mode, as in vgrid_loops.h, and flags ------------------------------- */

enum { TS_BILINEAR, TS_NEAREST, TS_BICUBIC, TS_MODE = 3, TS_BORDER = 4, TS_REFLECTION = 8, TS_PADDING = 12 };
/* TS_VOLUME: three dims, whose kernel in ATen rounds otherwise */
enum { TS_GRID_ALIGN = 16, TS_VOLUME = 32, TS_GRID_SINGLE = 64 };

TMATH double ts_reflect(double s, double n, int how)
{
	const int single = how & TS_GRID_SINGLE;
	const double low = how & TS_GRID_ALIGN ? 0 : -0.5, span = ts_round(how & TS_GRID_ALIGN ? n - 1 : n, single);
	const double x = fabs(ts_round(s - low, single)), turns = trunc(ts_round(x / (2 * span), single));
	double rest = ts_round(x - ts_round(turns * (2 * span), single), single), other;

	if (span == 0)
		return 0;
	if (how & TS_VOLUME) {
		const double halves = floor(ts_round(x / span, single));

		rest = fmod(x, span);
		if (halves < 2147483647.0 && fmod(halves, 2) == 1)
			rest = ts_round(span - rest, single);
		return ts_round(rest + low, single);
	}
	other = ts_round(2 * span - rest, single);
	return ts_round((rest < other ? rest : other) + low, single);
}

/* Applies the padding mode to a coordinate. */
TMATH double ts_bound(double s, double n, int how)
{
	const double last = ts_round(n - 1, how & TS_GRID_SINGLE);

	if (!(how & TS_PADDING))
		return s;
	if ((how & TS_PADDING) == TS_REFLECTION)
		s = ts_reflect(s, n, how);
	if (!(how & TS_VOLUME) && s != s)
		s = 0;
	return s < 0 ? 0 : s < last ? s : last;
}

/* Coordinate among n inputs of the grid's coordinate s, which is in [-1, 1]. */
TMATH double t_grid_source(double s, double n, int how)
{
	const int single = how & TS_GRID_SINGLE, align = how & TS_GRID_ALIGN, whole = !align && how & TS_VOLUME;
	const double by = ts_round(align ? n - 1 : n, single) / (whole ? 1 : 2), less = align ? 0 : whole ? 1 : 0.5;

	s = ts_round(ts_round(s + 1, single) * by, single);
	s = ts_round(s - less, single) * (whole ? 0.5 : 1);
	return (how & TS_MODE) == TS_BICUBIC ? s : ts_bound(s, n, how);
}

/* Rounds to an integer: ties to even in images, away from zero in volumes. */
TMATH double ts_whole(double s, int how)
{
	const double cut = trunc(s), rest = s - cut;

	return how & TS_VOLUME ? cut + (rest >= 0.5) - (rest <= -0.5) : rint(s);
}

/* Tap k. */
TMATH double t_grid_tap(double source, double k, double n, int how)
{
	const int single = how & TS_GRID_SINGLE, mode = how & TS_MODE;
	double at = mode == TS_NEAREST ? ts_whole(source, how) : floor(source);

	if (mode == TS_BICUBIC)
		at = ts_bound(ts_round(at + (k - 1), single), n, how);
	else if (mode == TS_BILINEAR)
		at = ts_round(at + k, single);
	if (!(at >= 0 && at < ts_round(n, single)))
		return -1;
	return floor(at < n - 1 ? at : n - 1);
}

/* Weight of tap k. A NaN makes the result NaN in an image. In a volume it does not count, as its taps are outside. */
TMATH double t_grid_weight(double source, double k, int how)
{
	const int single = how & TS_GRID_SINGLE;
	const double x = ts_round(source - floor(source), single);

	if ((how & TS_MODE) == TS_NEAREST || (how & TS_VOLUME && x != x))
		return how & TS_VOLUME && x != x ? 0 : 1;
	if ((how & TS_MODE) == TS_BICUBIC)
		return k == 1 || k == 2 ? ts_inner(fabs(x - (k - 1)), -0.75) : ts_outer(fabs(x - (k - 1)), -0.75);
	return k == 0 ? ts_round(1 - x, single) : x;
}

/* ---- roi_align: `how` is flags ----------------------------------------------------------------------------------- */

enum { TS_ALIGNED = 1, TS_ROI_SINGLE = 2 };

/* A side of a region, in elements of the image. */
TMATH double t_roi_side(double at, double scale, int how)
{
	const int single = how & TS_ROI_SINGLE;

	return ts_round(ts_round(at * ts_round(scale, single), single) - (how & TS_ALIGNED ? 0.5 : 0), single);
}

/* Size of one of n bins between two sides. */
TMATH double t_roi_bin(double from, double to, double n, int how)
{
	const double size = ts_round(to - from, how & TS_ROI_SINGLE);

	return ts_round((how & TS_ALIGNED || size >= 1 ? size : 1) / n, how & TS_ROI_SINGLE);
}

/* Number of samples along a bin. ratio 0 or less: as many as the bin has elements. */
TMATH double t_roi_points(double bin, double ratio)
{
	return ratio > 0 ? ratio : bin > 0 && bin < 1e9 ? ceil(bin) : 0;
}

/* Start of bin i in a region that begins at `first`. */
TMATH double t_roi_start(double first, double bin, double i, int how)
{
	return ts_round(first + ts_round(i * bin, how & TS_ROI_SINGLE), how & TS_ROI_SINGLE);
}

/* Coordinate of sample k of n in the bin. */
TMATH double t_roi_at(double start, double bin, double k, double n, int how)
{
	const int single = how & TS_ROI_SINGLE;

	return ts_round(start + ts_round(ts_round((k + 0.5) * bin, single) / n, single), single);
}

/* Tap k, 0 or 1, of the sample at this coordinate among n elements. */
TMATH double t_roi_tap(double at, double k, double n)
{
	const double low = at > 0 ? floor(at) : 0;

	if (!(at >= -1 && at <= n))
		return -1;
	if (low >= n - 1)
		return k > 0 ? -1 : n - 1;
	return low + k;
}

TMATH double t_roi_weight(double at, double k, double n, int how)
{
	const double in = at > 0 ? at : 0, rest = ts_round(in - floor(in), how & TS_ROI_SINGLE);

	if (floor(in) >= n - 1)
		return 1;
	return k > 0 ? rest : ts_round(1 - rest, how & TS_ROI_SINGLE);
}

#endif
