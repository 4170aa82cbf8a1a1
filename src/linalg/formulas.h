/*
 * formulas.h: constants and scalar formulas that the engine cuda shares: powers, BiCGSTAB, and its fallback,
 * the contraction x <- b + gamma M x. Plain C that compiles as C++: an engine says in NADIR_FORMULA how it
 * wants functions declared.
 */
#ifndef NADIR_LINALG_FORMULAS_H
#define NADIR_LINALG_FORMULAS_H

#include <math.h>
#include <stdint.h>

#ifndef NADIR_FORMULA
#define NADIR_FORMULA static inline
#endif

/* The recurrence drifts from the true residual; asking a little more of it saves a second run. */
#define NADIR_KRYLOV_GOAL_SHARE 0.7
/* Share of the rounding level below which no run is sent. */
#define NADIR_KRYLOV_LEAST_SHARE 0.01
/* Products of a run when the contraction needs fewer, or when there is none. */
#define NADIR_KRYLOV_LEAST_PRODUCTS 40
#define NADIR_KRYLOV_MOST_PRODUCTS  100000
#define NADIR_KRYLOV_MOST_DOUBLINGS 30
/* More of the contraction is not worth waiting for. */
#define NADIR_KRYLOV_MOST_CONTRACTION 10000000
/* Products of the contraction before a column that met rounding is given up. */
#define NADIR_KRYLOV_LAST_PRODUCTS 4

/* The products that the contraction needs, log(goal / residual) / log(rate), within limits; rate < 1. */
NADIR_FORMULA int64_t nadir_contraction_products(double goal, double residual, double rate)
{
    const double products = log(goal / residual) / log(rate);
    return products < NADIR_KRYLOV_LEAST_PRODUCTS ? NADIR_KRYLOV_LEAST_PRODUCTS
           : products < 1e18                      ? (int64_t)products
                                                  : INT64_MAX;
}

/*
 * Entry i of the noise that is added to the first residual r to make the shadow vector, in units of
 * |r|_2 / sqrt(n): a number between -1 and 1, the i-th of the SplitMix generator of Steele and others.
 *
 * Without it BiCGSTAB stalls on the systems that are asked for most. For A^T x = mu with mu uniform, r is a
 * multiple of 1, which is an eigenvector of A. Products until the residual is 1e-12 of mu, gamma = 0.99,
 * without and with noise: garnet of 200 states 231 and 51; chain of 150 states 4864 and 333.
 */
NADIR_FORMULA double nadir_shadow_noise(int64_t i)
{
    uint64_t mixed = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return (double)(mixed >> 11) * 0x1p-52 - 1;
}

/* omega = t.s / t.t, enlarged where t and s are nearly orthogonal, as for chains that drift or cycle
 * (Sleijpen and van der Vorst, 1995). */
NADIR_FORMULA double nadir_bicgstab_omega(double ts, double tt, double ss)
{
    const double least = 0.7; /* cosine between s and t that is taken as it is */
    const double omega = tt > 0 ? ts / tt : 0;
    const double cosine = fabs(ts) / sqrt(tt) / sqrt(ss);
    return cosine > 0 && cosine < least ? omega * (least / cosine) : omega;
}

/* r^exponent, r >= 0: the exponents of q = 1.5, 2 and 3 without the cost of a general power. */
NADIR_FORMULA double nadir_power(double r, double exponent)
{
    return exponent == 1 ? r : exponent == 2 ? r * r : exponent == 0.5 ? sqrt(r) : pow(r, exponent);
}

#endif
