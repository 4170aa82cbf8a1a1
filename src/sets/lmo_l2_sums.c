/* lmo_l2_sums.c: sums over the entries of a row about a level, p = 2; see lmo_internal.h. */
#include "sets/lmo_internal.h"

#include <math.h>
#include <string.h>

/* Entries by fours, in the vector types of GCC and Clang: the order of the sums is the same on every
 * processor. Two fours at a time do not wait for each other. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t four_mask __attribute__((vector_size(4 * sizeof(double))));

enum { FOUR = 4, LANES = 8 };

typedef struct four_sums {
    four n, first, second, moved, squares, lost, margin;
} four_sums;

/* An entry is positive, or at the edge of it, where Phat - slope d >= 0. */
#define ALWAYS static inline __attribute__((always_inline))
ALWAYS void add_four(four_sums *to, const double *phat, const double *x, double omega, double slope)
{
    four p;
    four d;
    memcpy(&p, phat, sizeof p);
    memcpy(&d, x, sizeof d);
    d -= omega;
    const four above = p - slope * d;
    const four_mask positive = above >= 0;
    const four_mask sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    const four distance = (four)((four_mask)above & sign);
    const four_mask nearer = distance < to->margin;
    const four one = {1, 1, 1, 1};
    const four kept = (four)((four_mask)d & positive);
    const four gone = (four)((four_mask)p & ~positive);
    to->n += (four)((four_mask)one & positive);
    to->first += kept;
    to->second += kept * d;
    to->moved += gone;
    to->squares += gone * gone;
    to->lost += gone * d;
    to->margin = (four)(((four_mask)distance & nearer) | ((four_mask)to->margin & ~nearer));
}

ALWAYS double join(const four *even, const four *odd)
{
    const four both = *even + *odd;
    return (both[0] + both[2]) + (both[1] + both[3]);
}

ALWAYS double join_least(const four *even, const four *odd)
{
    double least = INFINITY;
    for (int i = 0; i < FOUR; i++) {
        least = (*even)[i] < least ? (*even)[i] : least;
        least = (*odd)[i] < least ? (*odd)[i] : least;
    }
    return least;
}

/* The last lanes are filled with positive entries of d = 0, which only change the count. */
ALWAYS void add_all(const nadir_lmo_row_view *view, double omega, double slope, nadir_lmo_l2_sums *sums)
{
    const int64_t whole = view->count - view->count % LANES;
    const four far = {INFINITY, INFINITY, INFINITY, INFINITY};
    four_sums a = {.margin = far};
    four_sums b = {.margin = far};
    for (int64_t i = 0; i < whole; i += LANES) {
        add_four(&a, view->phat + i, view->x + i, omega, slope);
        add_four(&b, view->phat + i + FOUR, view->x + i + FOUR, omega, slope);
    }
    double filled = 0;
    if (whole < view->count) {
        double phat[LANES];
        double x[LANES];
        for (int64_t i = 0; i < LANES; i++) {
            phat[i] = whole + i < view->count ? view->phat[whole + i] : 1;
            x[i] = whole + i < view->count ? view->x[whole + i] : omega;
        }
        filled = (double)(whole + LANES - view->count);
        add_four(&a, phat, x, omega, slope);
        add_four(&b, phat + FOUR, x + FOUR, omega, slope);
    }
    *sums = (nadir_lmo_l2_sums){join(&a.n, &b.n) - filled,       join(&a.first, &b.first),
                                join(&a.second, &b.second),      join(&a.moved, &b.moved),
                                join(&a.squares, &b.squares),    join(&a.lost, &b.lost),
                                join_least(&a.margin, &b.margin)};
}

#if defined __x86_64__
/* The same code for processors with registers for four doubles. */
__attribute__((target("avx2"))) static void add_entries_wide(const nadir_lmo_row_view *view, double omega,
                                                             double slope, nadir_lmo_l2_sums *sums)
{
    add_all(view, omega, slope, sums);
}
/* And for those with registers for masks. */
__attribute__((target("avx512vl,avx512dq"))) static void
add_entries_masked(const nadir_lmo_row_view *view, double omega, double slope, nadir_lmo_l2_sums *sums)
{
    add_all(view, omega, slope, sums);
}
#endif

static void add_entries_plain(const nadir_lmo_row_view *view, double omega, double slope,
                              nadir_lmo_l2_sums *sums)
{
    add_all(view, omega, slope, sums);
}

nadir_lmo_l2_sums nadir_lmo_l2_sum_row(const nadir_lmo_row_view *view, double omega, double slope)
{
    nadir_lmo_l2_sums sums;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        add_entries_masked(view, omega, slope, &sums);
        return sums;
    }
    if (__builtin_cpu_supports("avx2")) {
        add_entries_wide(view, omega, slope, &sums);
        return sums;
    }
#endif
    add_entries_plain(view, omega, slope, &sums);
    return sums;
}
