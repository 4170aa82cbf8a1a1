/*
 * norm.c: p-norms and their dual vectors; see norm.h.
 *
 * With r = |x| / max |x|: |x|_p = max |x| (sum r^p)^(1/p). The sum is at least 1, so that nothing overflows,
 * and terms that underflow do not matter. The root divides relative errors of the terms, about p roundings of
 * r, by p.
 */
#include "linalg/vector.h"

#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>

double nadir_holder_conjugate(double p)
{
    if (!(p >= 1)) {
        return NAN;
    }
    if (p == 1) {
        return INFINITY;
    }
    /* p - 1 is exact below 2; beyond, its rounding shrinks with 1 / (p - 1). */
    return p < 2 ? p / (p - 1) : 1 + 1 / (p - 1);
}

/* What the sums need: entries x, their divisor (the largest size, or a power of two), the exponent of
 * |x|^(q - 1) and, unless NULL, where that goes. */
typedef struct terms {
    const double *x;
    double divisor;
    double exponent;
    double *powers;
} terms;

static void add_sizes(void *data, int64_t first, int64_t end, double *sums)
{
    const terms *self = data;
    for (int64_t i = first; i < end; i++) {
        sums[0] += fabs(self->x[i] / self->divisor);
    }
}

static void add_squares(void *data, int64_t first, int64_t end, double *sums)
{
    const terms *self = data;
    for (int64_t i = first; i < end; i++) {
        const double r = self->x[i] / self->divisor;
        sums[0] += r * r;
    }
}

static void add_powers(void *data, int64_t first, int64_t end, double *sums)
{
    const terms *self = data;
    for (int64_t i = first; i < end; i++) {
        const double r = fabs(self->x[i] / self->divisor);
        const double power = nadir_power(r, self->exponent);
        sums[0] += power * r;
        if (self->powers != NULL) {
            self->powers[i] = copysign(power, self->x[i]);
        }
    }
}

/* The largest size, and the sum of squares of scale x; in lanes: one alone would wait for every step. */
enum { LANES = 8 };

static double largest_short(int64_t count, const double *x)
{
    double lanes[LANES] = {0};
    double largest = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            lanes[lane] = fabs(x[i + lane]) > lanes[lane] ? fabs(x[i + lane]) : lanes[lane];
        }
    }
    for (; i < count; i++) {
        largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    }
    for (int lane = 0; lane < LANES; lane++) {
        largest = lanes[lane] > largest ? lanes[lane] : largest;
    }
    return largest;
}

static double squares_short(int64_t count, const double *x, double scale)
{
    double lanes[LANES] = {0};
    double sum = 0;
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            lanes[lane] += (scale * x[i + lane]) * (scale * x[i + lane]);
        }
    }
    for (; i < count; i++) {
        sum += (scale * x[i]) * (scale * x[i]);
    }
    for (int lane = 0; lane < LANES; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

double nadir_norm_short(int64_t count, const double *x, double p)
{
    const double largest = largest_short(count, x);
    double sum = 0;
    if (isinf(p) || largest == 0) {
        return largest;
    }
    if (p == 2 && isfinite(largest)) {
        const double scale = nadir_scale_for(largest);
        return sqrt(squares_short(count, x, scale)) / scale;
    }
    for (int64_t i = 0; i < count; i++) {
        sum += nadir_power(fabs(x[i] / largest), p);
    }
    return p == 1 ? largest * sum : p == 2 ? largest * sqrt(sum) : largest * pow(sum, 1 / p);
}

static nadir_status check_exponent(nadir_context *context, double exponent)
{
    if (!(exponent >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity", exponent);
    }
    return NADIR_OK;
}

/* *total = sum r^q with r = |x| / divisor. powers[count] <- sign(x) r^(q - 1), unless NULL. */
static nadir_status sum_powers(nadir_context *context, int64_t count, const double *x, double q, double size,
                               double *powers, double *divisor, double *total)
{
    enum { POWER_COST = 10 };
    const bool plain = q == 1 || (q == 2 && powers == NULL);
    *divisor = plain ? 1 / nadir_scale_for(size) : size;
    terms run = {x, *divisor, q - 1, powers};
    nadir_sum_terms *add = q == 1 ? add_sizes : plain ? add_squares : add_powers;
    return nadir_sums(context, count, plain ? 1 : POWER_COST, add, &run, 1, total);
}

nadir_status nadir_norm_p(nadir_context *context, int64_t count, const double *x, double p, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_extremes extremes;
    NADIR_CHECK(check_exponent(context, p));
    NADIR_CHECK(nadir_extremes_find(context, 0, count, x, &extremes));
    const double size = nadir_extremes_size(&extremes);
    if (isinf(p) || size == 0) {
        *norm = size;
        return NADIR_OK;
    }
    double divisor;
    double total;
    NADIR_CHECK(sum_powers(context, count, x, p, size, NULL, &divisor, &total));
    *norm = divisor * (p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p));
cleanup:
    return status;
}

/* The lowest place of an entry of the largest size. */
static nadir_indexed largest_entry(const nadir_extremes *extremes)
{
    const nadir_indexed *up = &extremes->largest;
    const nadir_indexed *down = &extremes->smallest;
    const bool tie = up->value == -down->value;
    return up->value > -down->value || (tie && up->place < down->place) ? *up : *down;
}

static void put_signs(const nadir_context *context, int64_t count, const double *x, double *u)
{
#pragma omp parallel for num_threads(nadir_threads_for(context, count)) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        u[i] = (double)((x[i] > 0) - (x[i] < 0));
    }
}

nadir_status nadir_norm_dual(nadir_context *context, int64_t first, int64_t count, const double *x, double q,
                             double *u, double *norm)
{
    nadir_status status = NADIR_OK;
    nadir_extremes extremes;
    NADIR_CHECK(check_exponent(context, q));
    NADIR_CHECK(nadir_extremes_find(context, first, count, x, &extremes));
    const double size = nadir_extremes_size(&extremes);
    if (isinf(q) || size == 0) {
        const nadir_indexed top = largest_entry(&extremes);
        for (int64_t i = 0; i < count; i++) {
            u[i] = 0;
        }
        if (size > 0 && top.place >= first && top.place - first < count) {
            u[top.place - first] = top.value > 0 ? 1 : -1;
        }
        *norm = size;
        return NADIR_OK;
    }
    double divisor;
    double total;
    NADIR_CHECK(sum_powers(context, count, x, q, size, q == 1 ? NULL : u, &divisor, &total));
    *norm = divisor * (q == 1 ? total : pow(total, 1 / q));
    if (q == 1) {
        put_signs(context, count, x, u);
        return NADIR_OK;
    }
    /* (|x| / |x|_q)^(q - 1) = r^(q - 1) / (sum r^q)^((q - 1) / q) */
    const double divide = pow(total, (q - 1) / q);
#pragma omp parallel for num_threads(nadir_threads_for(context, count)) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        u[i] /= divide;
    }
cleanup:
    return status;
}
