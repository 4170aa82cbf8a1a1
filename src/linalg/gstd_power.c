/*
 * gstd_power.c: the GSTD for 1 < q < infinity, q != 2; see gstd.h.
 *
 * With a = q - 1, omega is the root of the falling function sum sign(d) |d|^a, d = x - omega. It is found by
 * Newton's method within a bracket, on the form of the function that is closest to a line:
 *
 *     q > 2   |d_above|_a - |d_below|_a, each side measured by its largest |d|: slopes lie between 1 and
 *             S^(1/a) on both sides, so that nothing overflows and huge q are nearly linear.
 *     q < 2   the function itself, r = |d| / range. It has a vertical tangent at every entry of x, where
 *             Newton's steps come to nothing or leave the bracket; then the nearest entry is tried (at an
 *             entry, its own term is solved for exactly), then the middle of the bracket. The search starts
 *             at the median, the root as q tends to 1, and measures from there. Near q = 1 all powers are
 *             close to 1: r^a - 1 is summed.
 *
 * The direction is sign(d) |d|^a up to a factor. What the last roundings of omega leave of its sum goes
 *
 *     q > 2   into a factor for each side, so that their sums agree;
 *     q < 2   to the entries in proportion to |d|^(a - 1), as a further step of Newton's would change them:
 *             the entries at omega take it all, where there are any.
 */
#include "linalg/gstd_parts.h"
#include "linalg/norm.h"
#include "linalg/threads.h"

#include <float.h>
#include <math.h>

/* Sums over each side, ABOVE or BELOW omega: the number of entries; r^a, or r^a - 1 for a < NEAR_ONE;
 * r^(a-1); r^q. */
enum { ABOVE, BELOW, SIDES };
enum { COUNT, POWER, SLOPE, NORM, KINDS };

typedef struct search {
    nadir_centred *at;
    double q;
    double a;              /* q - 1 */
    double entries;        /* S; q < 2 */
    double divisor[SIDES]; /* r = |d| / divisor */
    double *powers;        /* [count] <- sign(d) r^a, or NULL */
    double sums[SIDES][KINDS];
    double value; /* of the function at the shift, and what Newton adds to the shift */
    double step;
    double noise; /* values of this size may be rounding */
    double low;   /* the root lies between */
    double high;
    double width; /* of the first bracket */
} search;

#define NEAR_ONE 0x1p-6 /* |a log r| is below 1 for r above 1e-27 */
#define LEAST    1e-290 /* the least r that differs from 0: its inverse is finite */

/* r^a; *term: what is summed of it. */
static double power_of(double r, double a, double *term)
{
    if (a < NEAR_ONE) {
        *term = expm1(a * log(r));
        return 1 + *term;
    }
    *term = nadir_power(r, a);
    return *term;
}

/* r^(a - 1), bounded. */
static double slope_of(double r, double power)
{
    return power / fmax(r, LEAST);
}

static void add_powers(void *data, int64_t first, int64_t end, double *sums)
{
    const search *find = data;
    for (int64_t i = first; i < end; i++) {
        const double d = nadir_centred_value(find->at, find->at->x[i]);
        const int side = d > 0 ? ABOVE : BELOW;
        const double r = fabs(d) / find->divisor[side];
        double power = 0;
        if (d != 0) {
            double term;
            power = power_of(r, find->a, &term);
            double *to = sums + (ptrdiff_t)KINDS * side;
            to[COUNT] += 1;
            to[POWER] += term;
            to[SLOPE] += slope_of(r, power);
            to[NORM] += power * r;
        }
        if (find->powers != NULL) {
            find->powers[i] = side == ABOVE ? power : -power;
        }
    }
}

/* q > 2: N = |d_side|_a = divisor (sum r^a)^(1/a), dN/dshift = -+ (sum r^(a-1)) (sum r^a)^(1/a - 1). */
static void value_above_two(search *find)
{
    double norms[SIDES];
    double slope = 0;
    for (int side = 0; side < SIDES; side++) {
        const double root = pow(find->sums[side][POWER], 1 / find->a);
        norms[side] = find->divisor[side] * root;
        slope += find->sums[side][SLOPE] * root / find->sums[side][POWER];
    }
    find->value = norms[ABOVE] - norms[BELOW];
    find->noise = DBL_EPSILON * (norms[ABOVE] + norms[BELOW]);
    find->step = find->value / slope;
}

/* q < 2. k entries at the shift itself add -+ k (|step| / divisor)^a, which alone or with the slope of the
 * others alone would step too far: the smaller of both is taken. */
static void value_below_two(search *find)
{
    const double *above = find->sums[ABOVE];
    const double *below = find->sums[BELOW];
    const double divisor = find->divisor[ABOVE];
    const double here = find->entries - above[COUNT] - below[COUNT];
    find->value = above[POWER] - below[POWER] + (find->a < NEAR_ONE ? above[COUNT] - below[COUNT] : 0);
    find->noise = 2 * DBL_EPSILON * (fabs(above[POWER]) + fabs(below[POWER]));
    double size = fabs(find->value) * divisor / (find->a * (above[SLOPE] + below[SLOPE]));
    if (here > 0) {
        size = fmin(size, divisor * pow(fabs(find->value) / here, 1 / find->a));
    }
    find->step = copysign(size, find->value);
}

/* The same by a device. */
static nadir_status add_on_device(nadir_context *context, search *find, double *powers)
{
    const nadir_device_centred at = {
        .scale = find->at->scale,
        .base = find->at->base,
        .shift = find->at->shift,
        .divisor = {find->divisor[ABOVE], find->divisor[BELOW]},
        .a = find->a,
    };
    _Static_assert(SIDES * KINDS == NADIR_DEVICE_POWERS, "the device's sums are these");
    return context->device->vector_powers(find->at->device_vector, context, &at, &find->sums[0][0], powers);
}

static nadir_status evaluate(nadir_context *context, search *find, double shift)
{
    enum { POWER_COST = 10 };
    nadir_centred *at = find->at;
    at->shift = shift;
    find->divisor[ABOVE] = find->width;
    find->divisor[BELOW] = find->width;
    if (find->a > 1) {
        find->divisor[ABOVE] = nadir_centred_value(at, at->extremes.largest.value);
        find->divisor[BELOW] = -nadir_centred_value(at, at->extremes.smallest.value);
    }
    const nadir_status status =
        at->device_vector != NULL
            ? add_on_device(context, find, NULL)
            : nadir_sums(context, at->count, POWER_COST, add_powers, find, SIDES * KINDS, &find->sums[0][0]);
    if (find->a > 1) {
        value_above_two(find);
    } else {
        value_below_two(find);
    }
    return status;
}

/* The place, as a shift, of the entry that is nearest to the shift on the side of the root. */
static nadir_status nearest_entry(nadir_context *context, const search *find, double *nearest)
{
    const nadir_communication *table = context->communication;
    const nadir_reduction least = NADIR_REDUCE_MINIMUM;
    nadir_centred seen = *find->at;
    const double shift = seen.shift;
    const double sign = find->value > 0 ? 1 : -1;
    seen.shift = 0;
    double reach = INFINITY; /* of places times sign, beyond the shift */
    for (int64_t i = 0; i < seen.count; i++) {
        const double place = sign * nadir_centred_value(&seen, seen.x[i]);
        reach = place > sign * shift && place < reach ? place : reach;
    }
    const nadir_status status = table->reduce(table->self, context, 1, &least, &reach);
    *nearest = sign * reach;
    return status;
}

static bool inside(const search *find, double shift)
{
    return shift > find->low && shift < find->high;
}

/* The next number above or below the shift, at a distance of LEAST of the width at least. */
static double neighbour(const search *find, double shift, bool above)
{
    const double least = LEAST * find->width;
    const double beyond = above ? INFINITY : -INFINITY;
    return fabs(shift) < least ? shift + copysign(least, beyond) : nextafter(shift, beyond);
}

/* Whether the shift is at the root: to rounding of the value, or with nothing left between it and the other
 * end of the bracket. */
static bool is_found(const search *find)
{
    return fabs(find->value) <= find->noise ||
           !inside(find, neighbour(find, find->at->shift, find->value > 0));
}

/* A place within the bracket that halves its length or, on one side of the base, that of its logarithm. */
static double middle(const search *find)
{
    const double least = LEAST * find->width;
    const double geometric = find->low >= 0 ? sqrt(fmax(find->low, least)) * sqrt(find->high)
                                            : -sqrt(fmax(-find->high, least)) * sqrt(fmax(-find->low, 0));
    const bool one_side = find->low >= 0 || find->high <= 0;
    return one_side && inside(find, geometric) ? geometric : find->low + (find->high - find->low) / 2;
}

/* How Newton's method fares. */
typedef struct course {
    double size; /* of the last value, and whether it was positive */
    bool rising;
    double stretch; /* by how much steps are lengthened */
    bool snapped;   /* the nearest entry had its turn */
} course;

/* The next shift. Newton goes on while it halves the value. Where it falls short time after time, its steps
 * are stretched; where it jumps over the root and back, or leaves the bracket, the nearest entry and the
 * middle of the bracket take turns. */
static nadir_status next_shift(nadir_context *context, const search *find, course *so_far, double *shift)
{
    nadir_status status = NADIR_OK;
    const double size = fabs(find->value);
    const bool rising = find->value > 0;
    const bool slow = size > so_far->size / 2;
    so_far->stretch = slow && rising == so_far->rising ? 4 * so_far->stretch : 1;
    double next = *shift + find->step * so_far->stretch;
    const double least = neighbour(find, *shift, rising);
    if (rising ? next < least : next > least) { /* the root is that near if the sign changes there */
        next = least;
    }
    bool good = inside(find, next) && !(slow && rising != so_far->rising);
    so_far->size = size;
    so_far->rising = rising;
    if (!good) {
        so_far->size = INFINITY;
        so_far->stretch = 1;
        so_far->snapped = !so_far->snapped && find->a < 1;
        if (so_far->snapped) {
            NADIR_CHECK(nearest_entry(context, find, &next));
            good = inside(find, next);
        }
    }
    *shift = good ? next : middle(find);
cleanup:
    return status;
}

/* Moves the shift to the root and leaves everything evaluated there. */
static nadir_status find_root(nadir_context *context, search *find)
{
    enum { LIMIT = 300 };
    nadir_status status = NADIR_OK;
    course so_far = {.size = INFINITY, .stretch = 1};
    double shift = 0;
    double best = 0;
    double best_size = INFINITY;
    for (int i = 0; i < LIMIT; i++) {
        NADIR_CHECK(evaluate(context, find, shift));
        const double size = fabs(find->value);
        *(find->value > 0 ? &find->low : &find->high) = shift;
        if (size < best_size) {
            best_size = size;
            best = shift;
        }
        if (is_found(find)) {
            break;
        }
        NADIR_CHECK(next_shift(context, find, &so_far, &shift));
    }
    if (find->at->shift != best) {
        NADIR_CHECK(evaluate(context, find, best));
    }
cleanup:
    return status;
}

/* q > 2: u = sign(d) share r^a / (sum r^a of the side); both sides sum to `share`, and |u|_p = 1. */
static double finish_above_two(const nadir_context *context, const search *find, double *u)
{
    const double p = find->q / find->a;
    const double largest = fmax(find->divisor[ABOVE], find->divisor[BELOW]);
    double factor[SIDES];
    double norm = 0; /* sum (|d| / largest)^q */
    double size = 0; /* sum |u|^p at share 1 */
    for (int side = 0; side < SIDES; side++) {
        const double *sums = find->sums[side];
        norm += sums[NORM] * pow(find->divisor[side] / largest, find->q);
        size += sums[NORM] * pow(sums[POWER], -p);
    }
    for (int side = 0; side < SIDES; side++) {
        factor[side] = pow(size, -1 / p) / find->sums[side][POWER];
    }
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, find->at->count)) schedule(static)
        for (int64_t i = 0; i < find->at->count; i++) {
            u[i] *= factor[u[i] > 0 ? ABOVE : BELOW];
        }
    }
    return largest * pow(norm, 1 / find->q);
}

/* q < 2: u = (sign(d) r^a - correction) / (sum r^q)^(a/q). */
static double finish_below_two(const nadir_context *context, const search *find, double *u)
{
    const double *above = find->sums[ABOVE];
    const double *below = find->sums[BELOW];
    const double norm = above[NORM] + below[NORM];
    const double divisor = find->divisor[ABOVE];
    const double divide = pow(norm, find->a / find->q);
    const double here = find->entries - above[COUNT] - below[COUNT];
    const double at_omega = here > 0 ? find->value / here : 0;
    const double elsewhere = here > 0 ? 0 : find->value / (above[SLOPE] + below[SLOPE]);
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, find->at->count)) schedule(static)
        for (int64_t i = 0; i < find->at->count; i++) {
            const double d = nadir_centred_value(find->at, find->at->x[i]);
            const double slope = slope_of(fabs(d) / divisor, fabs(u[i]));
            u[i] = (u[i] - (d == 0 ? at_omega : elsewhere * slope)) / divide;
        }
    }
    return divisor * pow(norm, 1 / find->q);
}

nadir_status nadir_gstd_power(nadir_context *context, nadir_centred *at, double q, double *work, double *u,
                              double *sigma)
{
    nadir_status status = NADIR_OK;
    search find = {.at = at, .q = q, .a = q - 1, .powers = u};
    const double smallest = at->extremes.smallest.value * at->scale;
    const double largest = at->extremes.largest.value * at->scale;
    at->base = nadir_centred_middle(smallest, largest);
    if (q < 2) {
        double median;
        NADIR_CHECK(nadir_centred_median(context, at, work, &median, &find.entries));
        at->base = median * at->scale;
    }
    find.low = smallest - at->base;
    find.high = largest - at->base;
    find.width = find.high - find.low;
    NADIR_CHECK(find_root(context, &find));
    if (at->device_vector != NULL && u != NULL) { /* the powers at the root */
        NADIR_CHECK(add_on_device(context, &find, u));
    }
    *sigma = q < 2 ? finish_below_two(context, &find, u) : finish_above_two(context, &find, u);
cleanup:
    return status;
}
