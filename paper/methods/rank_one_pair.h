/*
 * rank_one_pair.h: kernels Phat - b k^T where b is any vector over rows, not only one that keeps the shape of
 * the policy within a state.
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

/* |b / alpha|_2; rows of alpha = 0 are not looked at. b: [rows] */
double nadir_rank_one_pair_size(const nadir_problem *problem, const double *b);

/* b <- alpha |normal|, of scaled length beta; k <- normal, zero-sum, of length 1: a random pair with b >= 0,
 * in a direction that is uniform. b: [rows], k: [states]. */
void nadir_rank_one_pair_draw(const nadir_problem *problem, double beta, nadir_random *random, double *b,
                              double *k);

/* The penalty from v, d and g = D b^pi. b_pi, k, g: [states]. */
double nadir_rank_one_pair_penalty(const nadir_problem *problem, const double *b_pi, const double *k,
                                   const double *g);

/* attack->kernel, J and lambda; b and k are brought into the ball of radius beta first, where they are not in
 * it. b: [rows], k: [states]. */
nadir_status nadir_rank_one_pair_attack(nadir_context *context, const nadir_problem *problem, double beta,
                                        double *b, double *k, nadir_attack *attack);

#endif
