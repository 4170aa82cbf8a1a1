/* gstd.c: the generalised standard deviation: closed forms for q = 1, 2, infinity, Newton's method for other q. */
#include "linalg/gstd.h"

#include "core/device.h"
#include "linalg/distributed.h"
#include "linalg/root.h"
#include "linalg/threads.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

/*
 * One computation. Entries are brought to size 1 by a power of two and seen from a centre in two parts, as a
 * single double near large entries that differ little could not say where the centre is:
 *
 *     d_i = (scale x_i - base) - shift,   omega = (base + shift) / scale
 *
 * The first difference is exact where x_i is near the base.
 */
typedef struct centred_vector {
    int64_t first;
    int64_t count;
    const double *x; /* [count] */
    nadir_extremes extremes;
    double scale;
    double base;
    double shift;
    double median;       /* q < 2: the middle of the middle order statistics of all entries */
    void *device_vector; /* x on the device of the context; NULL: it is not there */
} centred_vector;

static inline double centred_value(const centred_vector *centred, double x)
{
    return (x * centred->scale - centred->base) - centred->shift;
}

/* The middle of low <= high, and never outside of them. */
static double centred_middle(double low, double high)
{
    const double range = high - low;
    return isfinite(range) ? low + range / 2 : low / 2 + high / 2;
}

/* centred->median. work[count] */
static nadir_status centred_median(nadir_context *context, centred_vector *centred, double *work)
{
    const nadir_communication *table = context->communication;
    const int64_t entries = nadir_global_count(context, centred->count);
    const int64_t ranks[2] = {(entries - 1) / 2, entries / 2};
    double values[2];
    if (centred->device_vector != NULL &&
        context->device->gstd_ranks(centred->device_vector, context, 2, ranks, values) == NADIR_OK) {
        centred->median = centred_middle(values[0], values[1]);
        return NADIR_OK;
    }
    for (int64_t i = 0; i < centred->count; i++) {
        work[i] = centred->x[i];
    }
    NADIR_TRY(table->order_statistics(table->self, context, centred->count, work, 2, ranks, values));
    centred->median = centred_middle(values[0], values[1]);
    return NADIR_OK;
}

/* q = infinity: half the range. */
static void half_range(centred_vector *centred, double *u, double *sigma)
{
    const nadir_indexed ends[2] = {centred->extremes.largest, centred->extremes.smallest};
    centred->base = centred_middle(ends[1].value * centred->scale, ends[0].value * centred->scale);
    *sigma = ends[0].value * centred->scale / 2 - ends[1].value * centred->scale / 2;
    for (int64_t i = 0; u != NULL && i < centred->count; i++) {
        u[i] = 0;
    }
    for (int end = 0; u != NULL && end < 2; end++) {
        const int64_t place = ends[end].place - centred->first;
        if (place >= 0 && place < centred->count) {
            u[place] = end == 0 ? 0.5 : -0.5;
        }
    }
}

/* sum d, sum d^2 and the number of entries. */
static void add_moments(void *data, int64_t first, int64_t end, double *sums)
{
    const centred_vector *centred = data;
    for (int64_t i = first; i < end; i++) {
        const double d = centred_value(centred, centred->x[i]);
        sums[0] += d;
        sums[1] += d * d;
    }
    sums[2] += (double)(end - first);
}

/* q = 2: the mean and the norm of what is left, in two passes of which the second corrects the first. */
static nadir_status centred_norm(nadir_context *context, centred_vector *centred, double *u, double *sigma)
{
    double sums[3];
    centred->base = centred_middle(centred->extremes.smallest.value * centred->scale,
                                   centred->extremes.largest.value * centred->scale);
    NADIR_TRY(nadir_sums(context, centred->count, 1, add_moments, centred, 3, sums));
    centred->base += sums[0] / sums[2];
    NADIR_TRY(nadir_sums(context, centred->count, 1, add_moments, centred, 3, sums));
    centred->shift = sums[0] / sums[2];
    *sigma = sqrt(sums[1] - sums[0] * (sums[0] / sums[2]));
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, centred->count)) schedule(static)
        for (int64_t i = 0; i < centred->count; i++) {
            u[i] = centred_value(centred, centred->x[i]) / *sigma;
        }
    }
    return NADIR_OK;
}

/* sum |d| and the numbers of entries above and below. */
static void add_halves(void *data, int64_t first, int64_t end, double *sums)
{
    const centred_vector *centred = data;
    const double *x = centred->x;
    for (int64_t i = first; i < end; i++) {
        sums[0] += fabs(centred_value(centred, x[i]));
        sums[1] += x[i] > centred->median;
        sums[2] += x[i] < centred->median;
    }
}

/* u = 1 above the median and -1 below. There are `above` and `below` such entries; the first of those that
 * equal it, over all processes, make up for the difference. */
static nadir_status put_halves(nadir_context *context, const centred_vector *centred, double above,
                               double below, double *u)
{
    const nadir_communication *table = context->communication;
    const double sign = above < below ? 1 : -1;
    double equal = 0;
    for (int64_t i = 0; i < centred->count; i++) {
        u[i] = (double)((centred->x[i] > centred->median) - (centred->x[i] < centred->median));
        equal += u[i] == 0;
    }
    double taken = equal; /* by the processes before this one */
    const nadir_status status = table->scan(table->self, context, 1, &taken);
    double left = fabs(above - below) - taken;
    for (int64_t i = 0; left > 0 && i < centred->count; i++) {
        if (u[i] == 0) {
            u[i] = sign;
            left -= 1;
        }
    }
    return status;
}

/* q = 1. The sum of |x - omega| is the same for every omega between the middle order statistics, so that the
 * rounding of their middle does no harm. */
static nadir_status median_deviation(nadir_context *context, centred_vector *centred, double *work, double *u,
                                     double *sigma)
{
    double sums[3];
    NADIR_TRY(centred_median(context, centred, work));
    centred->base = centred->median * centred->scale;
    NADIR_TRY(nadir_sums(context, centred->count, 1, add_halves, centred, 3, sums));
    *sigma = sums[0];
    if (u != NULL) {
        NADIR_TRY(put_halves(context, centred, sums[1], sums[2], u));
    }
    return NADIR_OK;
}

/*
 * 1 < q < infinity, q != 2, where not all entries are equal.
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

/* Sums over each side, ABOVE or BELOW omega: the number of entries; r^a, or r^a - 1 for a < NEAR_ONE;
 * r^(a-1); r^q. */
enum { ABOVE, BELOW, SIDES };
enum { COUNT, POWER, SLOPE, NORM, KINDS };

typedef struct search {
    centred_vector *centred;
    double q;
    double a;              /* q - 1 */
    double entries;        /* S; q < 2 */
    double divisor[SIDES]; /* r = |d| / divisor */
    double *powers;        /* [count] <- sign(d) r^a, or NULL */
    double sums[SIDES][KINDS];
    double value; /* of the function at the shift, and what Newton adds to the shift */
    double step;
    double noise; /* values of this size may be rounding */
    nadir_bracket bracket;
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
    const search *self = data;
    for (int64_t i = first; i < end; i++) {
        const double d = centred_value(self->centred, self->centred->x[i]);
        const int side = d > 0 ? ABOVE : BELOW;
        const double r = fabs(d) / self->divisor[side];
        double power = 0;
        if (d != 0) {
            double term;
            power = power_of(r, self->a, &term);
            double *to = sums + (ptrdiff_t)KINDS * side;
            to[COUNT] += 1;
            to[POWER] += term;
            to[SLOPE] += slope_of(r, power);
            to[NORM] += power * r;
        }
        if (self->powers != NULL) {
            self->powers[i] = side == ABOVE ? power : -power;
        }
    }
}

/* q > 2: N = |d_side|_a = divisor (sum r^a)^(1/a), dN/dshift = -+ (sum r^(a-1)) (sum r^a)^(1/a - 1). */
static void value_above_two(search *self)
{
    double norms[SIDES];
    double slope = 0;
    for (int side = 0; side < SIDES; side++) {
        const double root = pow(self->sums[side][POWER], 1 / self->a);
        norms[side] = self->divisor[side] * root;
        slope += self->sums[side][SLOPE] * root / self->sums[side][POWER];
    }
    self->value = norms[ABOVE] - norms[BELOW];
    self->noise = DBL_EPSILON * (norms[ABOVE] + norms[BELOW]);
    self->step = self->value / slope;
}

/* q < 2. k entries at the shift itself add -+ k (|step| / divisor)^a, which alone or with the slope of the
 * others alone would step too far: the smaller of both is taken. */
static void value_below_two(search *self)
{
    const double *above = self->sums[ABOVE];
    const double *below = self->sums[BELOW];
    const double divisor = self->divisor[ABOVE];
    const double equal = self->entries - above[COUNT] - below[COUNT];
    self->value = above[POWER] - below[POWER] + (self->a < NEAR_ONE ? above[COUNT] - below[COUNT] : 0);
    self->noise = 2 * DBL_EPSILON * (fabs(above[POWER]) + fabs(below[POWER]));
    double size = fabs(self->value) * divisor / (self->a * (above[SLOPE] + below[SLOPE]));
    if (equal > 0) {
        size = fmin(size, divisor * pow(fabs(self->value) / equal, 1 / self->a));
    }
    self->step = copysign(size, self->value);
}

/* The same by a device. */
static nadir_status add_on_device(nadir_context *context, search *self, double *powers)
{
    const nadir_device_power_terms run = {
        .scale = self->centred->scale,
        .base = self->centred->base,
        .shift = self->centred->shift,
        .divisor = {self->divisor[ABOVE], self->divisor[BELOW]},
        .a = self->a,
    };
    _Static_assert(SIDES * KINDS == NADIR_DEVICE_POWER_SUMS, "the device's sums are these");
    return context->device->gstd_powers(self->centred->device_vector, context, &run, &self->sums[0][0],
                                        powers);
}

static nadir_status evaluate(nadir_context *context, search *self, double shift)
{
    enum { POWER_COST = 10 };
    centred_vector *centred = self->centred;
    centred->shift = shift;
    self->divisor[ABOVE] = self->width;
    self->divisor[BELOW] = self->width;
    if (self->a > 1) {
        self->divisor[ABOVE] = centred_value(centred, centred->extremes.largest.value);
        self->divisor[BELOW] = -centred_value(centred, centred->extremes.smallest.value);
    }
    const nadir_status status = centred->device_vector != NULL
                                    ? add_on_device(context, self, NULL)
                                    : nadir_sums(context, centred->count, POWER_COST, add_powers, self,
                                                 SIDES * KINDS, &self->sums[0][0]);
    if (self->a > 1) {
        value_above_two(self);
    } else {
        value_below_two(self);
    }
    return status;
}

/* The place, as a shift, of the entry that is nearest to the shift on the side of the root. */
static double nearest_entry(const nadir_context *context, const search *self)
{
    centred_vector seen = *self->centred;
    const double shift = seen.shift;
    const double sign = self->value > 0 ? 1 : -1;
    seen.shift = 0;
    double reach = INFINITY; /* of places times sign, beyond the shift */
    for (int64_t i = 0; i < seen.count; i++) {
        const double place = sign * centred_value(&seen, seen.x[i]);
        reach = place > sign * shift && place < reach ? place : reach;
    }
    return sign * nadir_allreduce_minimum(context, reach);
}

/* The next number above or below the shift, at a distance of LEAST of the width at least. */
static double neighbour(const search *self, double shift, bool above)
{
    const double least = LEAST * self->width;
    const double beyond = above ? INFINITY : -INFINITY;
    return fabs(shift) < least ? shift + copysign(least, beyond) : nextafter(shift, beyond);
}

/* Whether the shift is at the root: to rounding of the value, or with nothing left between it and the other
 * end of the bracket. */
static bool is_found(const search *self)
{
    return fabs(self->value) <= self->noise ||
           !nadir_bracket_contains(&self->bracket, neighbour(self, self->centred->shift, self->value > 0));
}

/* A place within the bracket that halves its length or, on one side of the base, that of its logarithm. */
static double middle(const search *self)
{
    const double least = LEAST * self->width;
    const double geometric =
        self->bracket.low >= 0 ? sqrt(fmax(self->bracket.low, least)) * sqrt(self->bracket.high)
                               : -sqrt(fmax(-self->bracket.high, least)) * sqrt(fmax(-self->bracket.low, 0));
    const bool one_side = self->bracket.low >= 0 || self->bracket.high <= 0;
    return one_side && nadir_bracket_contains(&self->bracket, geometric)
               ? geometric
               : nadir_bracket_middle(&self->bracket);
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
static double next_shift(const nadir_context *context, const search *self, course *so_far, double shift)
{
    const double size = fabs(self->value);
    const bool rising = self->value > 0;
    const bool slow = size > so_far->size / 2;
    so_far->stretch = slow && rising == so_far->rising ? 4 * so_far->stretch : 1;
    double next = shift + self->step * so_far->stretch;
    const double least = neighbour(self, shift, rising);
    if (rising ? next < least : next > least) { /* the root is that near if the sign changes there */
        next = least;
    }
    bool good = nadir_bracket_contains(&self->bracket, next) && !(slow && rising != so_far->rising);
    so_far->size = size;
    so_far->rising = rising;
    if (!good) {
        so_far->size = INFINITY;
        so_far->stretch = 1;
        so_far->snapped = !so_far->snapped && self->a < 1;
        if (so_far->snapped) {
            next = nearest_entry(context, self);
            good = nadir_bracket_contains(&self->bracket, next);
        }
    }
    return good ? next : middle(self);
}

/* Moves the shift to the root and leaves everything evaluated there. */
static nadir_status find_root(nadir_context *context, search *self)
{
    enum { LIMIT = 300 };
    course so_far = {.size = INFINITY, .stretch = 1};
    double shift = 0;
    double best = 0;
    double best_size = INFINITY;
    for (int i = 0; i < LIMIT; i++) {
        NADIR_TRY(evaluate(context, self, shift));
        const double size = fabs(self->value);
        nadir_bracket_narrow(&self->bracket, shift, self->value > 0);
        if (size < best_size) {
            best_size = size;
            best = shift;
        }
        if (is_found(self)) {
            break;
        }
        shift = next_shift(context, self, &so_far, shift);
    }
    if (self->centred->shift != best) {
        NADIR_TRY(evaluate(context, self, best));
    }
    return NADIR_OK;
}

/* q > 2: u = sign(d) share r^a / (sum r^a of the side); both sides sum to `share`, and |u|_p = 1. */
static double finish_above_two(const nadir_context *context, const search *self, double *u)
{
    const double p = self->q / self->a;
    const double largest = fmax(self->divisor[ABOVE], self->divisor[BELOW]);
    double factor[SIDES];
    double norm = 0; /* sum (|d| / largest)^q */
    double size = 0; /* sum |u|^p at share 1 */
    for (int side = 0; side < SIDES; side++) {
        const double *sums = self->sums[side];
        norm += sums[NORM] * pow(self->divisor[side] / largest, self->q);
        size += sums[NORM] * pow(sums[POWER], -p);
    }
    for (int side = 0; side < SIDES; side++) {
        factor[side] = pow(size, -1 / p) / self->sums[side][POWER];
    }
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, self->centred->count)) schedule(static)
        for (int64_t i = 0; i < self->centred->count; i++) {
            u[i] *= factor[u[i] > 0 ? ABOVE : BELOW];
        }
    }
    return largest * pow(norm, 1 / self->q);
}

/* q < 2: u = (sign(d) r^a - correction) / (sum r^q)^(a/q). */
static double finish_below_two(const nadir_context *context, const search *self, double *u)
{
    const double *above = self->sums[ABOVE];
    const double *below = self->sums[BELOW];
    const double norm = above[NORM] + below[NORM];
    const double divisor = self->divisor[ABOVE];
    const double divide = pow(norm, self->a / self->q);
    const double equal = self->entries - above[COUNT] - below[COUNT];
    const double at_omega = equal > 0 ? self->value / equal : 0;
    const double elsewhere = equal > 0 ? 0 : self->value / (above[SLOPE] + below[SLOPE]);
    if (u != NULL) {
#pragma omp parallel for num_threads(nadir_threads_for(context, self->centred->count)) schedule(static)
        for (int64_t i = 0; i < self->centred->count; i++) {
            const double d = centred_value(self->centred, self->centred->x[i]);
            const double slope = slope_of(fabs(d) / divisor, fabs(u[i]));
            u[i] = (u[i] - (d == 0 ? at_omega : elsewhere * slope)) / divide;
        }
    }
    return divisor * pow(norm, 1 / self->q);
}

/* Scaled sigma, the centre (in `centred`), and u unless NULL. work[count] */
static nadir_status gstd_power(nadir_context *context, centred_vector *centred, double q, double *work,
                               double *u, double *sigma)
{
    search run = {.centred = centred, .q = q, .a = q - 1, .powers = u};
    const double smallest = centred->extremes.smallest.value * centred->scale;
    const double largest = centred->extremes.largest.value * centred->scale;
    centred->base = centred_middle(smallest, largest);
    if (q < 2) {
        NADIR_TRY(centred_median(context, centred, work));
        run.entries = (double)nadir_global_count(context, centred->count);
        centred->base = centred->median * centred->scale;
    }
    run.bracket.low = smallest - centred->base;
    run.bracket.high = largest - centred->base;
    run.width = run.bracket.high - run.bracket.low;
    NADIR_TRY(find_root(context, &run));
    if (centred->device_vector != NULL && u != NULL) { /* the powers at the root */
        NADIR_TRY(add_on_device(context, &run, u));
    }
    *sigma = q < 2 ? finish_below_two(context, &run, u) : finish_above_two(context, &run, u);
    return NADIR_OK;
}

/* Long vectors go to a device, if there is one and it has memory, for norms that take many passes. */
static void send(nadir_context *context, double q, centred_vector *centred)
{
    enum { LONG = 1000000 };
    const bool passes = q != 2 && !isinf(q);
    if (context->device == NULL || centred->count < LONG || !passes ||
        context->device->gstd_upload(context->device_self, context, centred->count, centred->x,
                                     &centred->device_vector) != NADIR_OK) {
        centred->device_vector = NULL;
    }
}

nadir_status nadir_gstd_compute(nadir_context *context, int64_t first, int64_t count, const double *x,
                                double q, double *work, double *u, nadir_gstd *gstd)
{
    nadir_status status = NADIR_OK;
    centred_vector centred = {.first = first, .count = count, .x = x};
    double sigma = 0;
    if (!(q >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity", q);
    }
    NADIR_CHECK(nadir_extremes_find(context, first, count, x, &centred.extremes));
    const double size = nadir_extremes_size(&centred.extremes);
    centred.scale = nadir_scale_for(size);
    if (centred.extremes.largest.value <= centred.extremes.smallest.value) {
        for (int64_t i = 0; u != NULL && i < count; i++) {
            u[i] = 0;
        }
        *gstd =
            (nadir_gstd){0, isfinite(centred.extremes.largest.value) ? centred.extremes.largest.value : 0};
        return NADIR_OK;
    }
    send(context, q, &centred);
    if (isinf(q)) {
        half_range(&centred, u, &sigma);
    } else if (q == 2) {
        NADIR_CHECK(centred_norm(context, &centred, u, &sigma));
    } else if (q == 1) {
        NADIR_CHECK(median_deviation(context, &centred, work, u, &sigma));
    } else {
        NADIR_CHECK(gstd_power(context, &centred, q, work, u, &sigma));
    }
    *gstd = (nadir_gstd){sigma / centred.scale, (centred.base + centred.shift) / centred.scale};
cleanup:
    if (centred.device_vector != NULL) {
        context->device->gstd_free(centred.device_vector);
    }
    return status;
}
