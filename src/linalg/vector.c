/* vector.c: kernels on plain vectors; see vector.h. */
#include "linalg/vector.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <math.h>

/* Sums of squares beyond this and its inverse are made again, of numbers that were scaled. */
#define SQUARE_LEAST 1e-270

/* Pairs of numbers, in vectors of the language as GCC and Clang extend it: every processor has such. Several
 * at a time do not wait for each other. */
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_mask __attribute__((vector_size(2 * sizeof(double))));

enum { PAIRS = 4, NUMBERS = 2 * PAIRS, FEW = 2 };

static inline pair pair_at(const double *x)
{
    return (pair){x[0], x[1]};
}

static inline pair sizes_of(pair x)
{
    return (pair)((pair_mask)x & INT64_MAX);
}

static inline pair pick(pair_mask first, pair a, pair b)
{
    return (pair)(((pair_mask)a & first) | ((pair_mask)b & ~first));
}

/* *sum + term, and what is lost of it. */
static inline void add_term(double term, double *sum, double *lost)
{
    const double next = *sum + term;
    const double taken = next - *sum;
    *lost += (*sum - (next - taken)) + (term - taken);
    *sum = next;
}

static inline void add_pair(pair term, pair *sum, pair *lost)
{
    const pair next = *sum + term;
    const pair taken = next - *sum;
    *lost += (*sum - (next - taken)) + (term - taken);
    *sum = next;
}

/* All together, and numbers that are left over. An overflow makes the compensation a NaN; the plain sum says
 * more. */
static double join(const pair sums[FEW], const pair lost[FEW], double rest, double rest_lost)
{
    for (int i = 0; i < 2 * FEW; i++) {
        add_term(sums[i / 2][i % 2], &rest, &rest_lost);
        rest_lost += lost[i / 2][i % 2];
    }
    const double total = rest + rest_lost;
    return isfinite(total) ? total : rest;
}

double nadir_vector_sum(int64_t count, const double *x)
{
    pair sums[FEW] = {{0}};
    pair lost[FEW] = {{0}};
    double rest = 0;
    double rest_lost = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            add_pair(pair_at(x + i + 2 * j), &sums[j], &lost[j]);
        }
    }
    for (; i < count; i++) {
        add_term(x[i], &rest, &rest_lost);
    }
    return join(sums, lost, rest, rest_lost);
}

double nadir_vector_largest(int64_t count, const double *x)
{
    pair found[FEW] = {{0}};
    pair nothing = {0}; /* stays that unless a number is not finite */
    double largest = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair size = sizes_of(pair_at(x + i + 2 * j));
            found[j] = pick(size > found[j], size, found[j]);
            nothing += size * 0;
        }
    }
    for (int j = 0; j < 2 * FEW; j++) {
        largest = found[j / 2][j % 2] > largest ? found[j / 2][j % 2] : largest;
    }
    i = nothing[0] == 0 && nothing[1] == 0 ? i : 0; /* else one by one */
    for (; i < count; i++) {
        const double size = fabs(x[i]);
        if (isnan(size)) {
            return size;
        }
        largest = size > largest ? size : largest;
    }
    return largest;
}

double nadir_vector_smallest(int64_t count, const double *x)
{
    double smallest = x[0];
    pair found[FEW] = {{smallest, smallest}, {smallest, smallest}};
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair next = pair_at(x + i + 2 * j);
            found[j] = pick(next < found[j], next, found[j]);
        }
    }
    for (int j = 0; j < 2 * FEW; j++) {
        smallest = found[j / 2][j % 2] < smallest ? found[j / 2][j % 2] : smallest;
    }
    for (; i < count; i++) {
        smallest = x[i] < smallest ? x[i] : smallest;
    }
    return smallest;
}

double nadir_vector_dot(int64_t count, const double *x, const double *y, double *error)
{
    const double unit = NADIR_ROUND_UNIT;
    const double n = (double)count;
    pair sums[FEW] = {{0}};
    pair lost[FEW] = {{0}};
    pair sizes = {0};
    double rest = 0;
    double rest_lost = 0;
    double size = 0;
    int64_t i = 0;
    for (; i + 2 * FEW <= count; i += 2 * FEW) {
        for (int j = 0; j < FEW; j++) {
            const pair term = pair_at(x + i + 2 * j) * pair_at(y + i + 2 * j);
            add_pair(term, &sums[j], &lost[j]);
            sizes += sizes_of(term);
        }
    }
    for (; i < count; i++) {
        const double term = x[i] * y[i];
        add_term(term, &rest, &rest_lost);
        size += fabs(term);
    }
    size += sizes[0] + sizes[1];
    /* the products and the last addition; what the compensation loses; the sum of the sizes itself */
    *error = unit * (4 + unit * n * n) * size * (1 + n * unit);
    return join(sums, lost, rest, rest_lost);
}

static inline double join_plain(const pair sums[PAIRS])
{
    const pair both = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return both[0] + both[1];
}

/* The sum of (scale x)^2, off by less than 48 roundings. */
static double sum_squares(int64_t count, double scale, const double *x)
{
    enum { BLOCK = 256 };
    double sum = 0;
    double lost = 0;
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t end = first + BLOCK < count ? first + BLOCK : count;
        pair sums[PAIRS] = {{0}};
        double rest = 0;
        int64_t i = first;
        for (; i + NUMBERS <= end; i += NUMBERS) {
            for (int j = 0; j < PAIRS; j++) {
                const pair r = pair_at(x + i + 2 * j) * scale;
                sums[j] += r * r;
            }
        }
        for (; i < end; i++) {
            rest += (x[i] * scale) * (x[i] * scale);
        }
        add_term(rest + join_plain(sums), &sum, &lost);
    }
    return sum + lost;
}

double nadir_global_norm_2(const nadir_context *context, int64_t count, const double *x)
{
    double scale = 1;
    for (;;) {
        const double sum = nadir_allreduce_sum(context, sum_squares(count, scale, x));
        if (scale != 1 ||
            (sum > SQUARE_LEAST && sum < 1 / SQUARE_LEAST)) { /* what underflowed does not matter */
            return sqrt(sum) / scale;
        }
        const double largest = nadir_global_largest(context, count, x);
        if (!(largest > 0) || isinf(largest)) {
            return largest;
        }
        scale = nadir_scale_for(largest);
    }
}

double nadir_vector_norm_1(int64_t count, const double *x)
{
    pair sums[PAIRS] = {{0}};
    double rest = 0;
    int64_t i = 0;
    for (; i + NUMBERS <= count; i += NUMBERS) {
        for (int j = 0; j < PAIRS; j++) {
            sums[j] += sizes_of(pair_at(x + i + 2 * j));
        }
    }
    for (; i < count; i++) {
        rest += fabs(x[i]);
    }
    return rest + join_plain(sums);
}

static inline __attribute__((always_inline)) void add_all(int64_t count, double weight, const double *x,
                                                          bool first, double *restrict sum)
{
    for (int64_t i = 0; i < count && first; i++) {
        sum[i] = weight * x[i];
    }
    for (int64_t i = 0; i < count && !first; i++) {
        sum[i] += weight * x[i];
    }
}

#if defined __x86_64__
/* The same, for processors that take four numbers at once. */
__attribute__((target("avx2"))) static void add_all_wide(int64_t count, double weight, const double *x,
                                                         bool first, double *restrict sum)
{
    add_all(count, weight, x, first, sum);
}
#endif

void nadir_vector_add(int64_t count, double weight, const double *x, bool first, double *restrict sum)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        add_all_wide(count, weight, x, first, sum);
        return;
    }
#endif
    add_all(count, weight, x, first, sum);
}

void nadir_vector_divide(int64_t count, double divisor, double *x)
{
    for (int64_t i = 0; i < count; i++) {
        x[i] /= divisor;
    }
}

/*
 * p-norms and their dual vectors.
 *
 * With r = |x| / max |x|: |x|_p = max |x| (sum r^p)^(1/p). The sum is at least 1, so that nothing overflows,
 * and terms that underflow do not matter. The root divides relative errors of the terms, about p roundings of
 * r, by p.
 */

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

double nadir_gstd_unit(int64_t states, double p)
{
    if (states == 1) {
        return 0;
    }
    if (isinf(p)) {
        return 1;
    }
    return pow(1 + pow((double)(states - 1), 1 - p), -1 / p);
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

/* The sum of squares of scale x; in lanes: one alone would wait for every step. */
static double squares_short(int64_t count, const double *x, double scale)
{
    enum { LANES = 8 };
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
    const double largest = nadir_vector_largest(count, x);
    double sum = 0;
    if (isinf(p) || largest == 0) {
        return largest;
    }
    if (p == 2) {
        const double scale = nadir_scale_for(largest);
        return sqrt(squares_short(count, x, scale)) / scale;
    }
    for (int64_t i = 0; i < count; i++) {
        sum += nadir_power(fabs(x[i] / largest), p);
    }
    return p == 1 ? largest * sum : largest * pow(sum, 1 / p);
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
    const bool plain = q == 1;
    *divisor = plain ? 1 / nadir_scale_for(size) : size;
    terms run = {x, *divisor, q - 1, powers};
    nadir_sum_terms *add = plain ? add_sizes : add_powers;
    return nadir_sums(context, count, plain ? 1 : POWER_COST, add, &run, 1, total);
}

nadir_status nadir_norm_p(nadir_context *context, int64_t count, const double *x, double p, double *norm)
{
    nadir_extremes extremes;
    NADIR_TRY(check_exponent(context, p));
    NADIR_TRY(nadir_extremes_find(context, 0, count, x, &extremes));
    const double size = nadir_extremes_size(&extremes);
    if (isinf(p) || size == 0) {
        *norm = size;
        return NADIR_OK;
    }
    if (p == 2) {
        *norm = nadir_global_norm_2(context, count, x);
        return NADIR_OK;
    }
    double divisor;
    double total;
    NADIR_TRY(sum_powers(context, count, x, p, size, NULL, &divisor, &total));
    *norm = divisor * (p == 1 ? total : pow(total, 1 / p));
    return NADIR_OK;
}

/* The lowest place of an entry of the largest size. */
static nadir_indexed largest_entry(const nadir_extremes *extremes)
{
    const nadir_indexed *up = &extremes->largest;
    const nadir_indexed *down = &extremes->smallest;
    const bool tie = up->value == -down->value;
    return up->value > -down->value || (tie && up->place < down->place) ? *up : *down;
}

nadir_status nadir_norm_dual(nadir_context *context, int64_t first, int64_t count, const double *x, double q,
                             double *u, double *norm)
{
    nadir_extremes extremes;
    NADIR_TRY(check_exponent(context, q));
    NADIR_TRY(nadir_extremes_find(context, first, count, x, &extremes));
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
    NADIR_TRY(sum_powers(context, count, x, q, size, q == 1 ? NULL : u, &divisor, &total));
    *norm = divisor * (q == 1 ? total : pow(total, 1 / q));
    /* (|x| / |x|_q)^(q - 1) = r^(q - 1) / (sum r^q)^((q - 1) / q); signs at q = 1 */
    const double divide = pow(total, (q - 1) / q);
#pragma omp parallel for num_threads(nadir_threads_for(context, count)) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        u[i] = q == 1 ? (double)((x[i] > 0) - (x[i] < 0)) : u[i] / divide;
    }
    return NADIR_OK;
}

/*
 * Projection onto the simplex.
 *
 * theta solves sum max(x - theta, 0) = 1. With the n largest entries counted in, theta_n = (their sum - 1) /
 * n; the set is right when its smallest entry is above theta_n and the next one is not. Entries are dropped
 * until that holds (Michelot): each round is a pass over what is left, and theta only rises. What is by one
 * below the largest is dropped before the first: theta is not lower than that.
 */

void nadir_simplex_project(int64_t count, double *x, double *room)
{
    double largest = -INFINITY;
    int64_t left = 0;
    int64_t before;
    double theta;
    for (int64_t i = 0; i < count; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    for (int64_t i = 0; i < count; i++) { /* from the largest on: nothing is lost to a common part */
        x[i] -= largest;
        room[left] = x[i];
        left += !(x[i] <= -1);
    }
    do {
        double sum = 0;
        before = left;
        left = 0;
        for (int64_t i = 0; i < before; i++) {
            sum += room[i];
        }
        theta = (sum - 1) / (double)before;
        for (int64_t i = 0; i < before; i++) {
            if (room[i] > theta) {
                room[left++] = room[i];
            }
        }
    } while (left < before);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        x[i] = x[i] > theta ? x[i] - theta : 0;
        sum += x[i];
    }
    for (int64_t i = 0; i < count; i++) {
        x[i] /= sum;
    }
}
