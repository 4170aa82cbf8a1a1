/*
 * rank_one_pair.h: kernels Phat - b k^T with any vector b over rows. (Kernels of the free domain in src/ have
 * b(s, a) proportional to alpha^2 pi within a state.)
 *
 *     penalty(b, k) = gamma (d . b^pi) (k . v) / (1 + gamma k . D b^pi)
 */
#ifndef NADIR_PAPER_RANK_ONE_PAIR_H
#define NADIR_PAPER_RANK_ONE_PAIR_H

#include "inside.h"

/* b_pi(s) = sum over a of pi(a|s) b(s, a); b: [rows], b_pi: [states]. */
void nadir_rank_one_pair_average(const nadir_problem *problem, const double *b, double *b_pi);

/* x <- x - mean; returns |x|_2 of that. */
double nadir_rank_one_pair_centre(int64_t count, double *x);

/* |b / alpha|_2 over the rows with alpha > 0. b: [rows] */
double nadir_rank_one_pair_size(const nadir_problem *problem, const double *b);

/* A random pair with b >= 0, of uniform direction: b <- alpha |normal| scaled to |b / alpha|_2 = beta, k <- a
 * centred normal vector of length 1. b: [rows], k: [states]. */
void nadir_rank_one_pair_draw(const nadir_problem *problem, double beta, nadir_random *random, double *b,
                              double *k);

/* The penalty from v, d and g = D b^pi. b_pi, k, g: [states]. */
double nadir_rank_one_pair_penalty(const nadir_problem *problem, const double *b_pi, const double *k,
                                   const double *g);

/* attack <- the kernel of the pair, its J and lambda. b and k are scaled into the ball of radius beta if they
 * lie outside. b: [rows], k: [states]. */
nadir_status nadir_rank_one_pair_attack(nadir_context *context, const nadir_problem *problem, double beta,
                                        double *b, double *k, nadir_candidate *candidate);

#endif
