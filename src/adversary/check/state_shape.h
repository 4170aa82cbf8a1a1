/*
 * state_shape.h: kernels of the plain L_2 ball that are given by c: b = f_s pi within state s, f = c / W, as
 * nadir_rank_one_states_expand writes it. With one number of a state for each question nothing is asked of rows:
 *
 *     b^pi = f_s sum pi^2,    |b|_2 = |f_s (sum pi^2)^(1/2)|_2,    largest |b| = |f_s| max pi.
 */
#ifndef NADIR_ADVERSARY_STATE_SHAPE_H
#define NADIR_ADVERSARY_STATE_SHAPE_H

#include "adversary/problem.h"

/* The other way, for any b: [rows]: b_pi: [states] <- b^pi, *largest: max_s of sum_a pi |b|. */
void nadir_rank_one_states_average(const nadir_problem *problem, const double *b, double *b_pi,
                                   double *largest);

/* A struct of zeros holds nothing. */
typedef struct nadir_rank_one_states {
    double *square;  /* [states] sum of pi^2, A roundings */
    double *root;    /* [states] of that */
    double *top;     /* [states] the largest pi */
    double *factors; /* [states] f of the kernel that was read last */
    double *sizes;   /* [states] |b|_2 of its states, with a sign: known to averaging (enclosure.h) + 4 u */
} nadir_rank_one_states;

/* Whether b of this problem's worst kernels is of that kind. */
bool nadir_rank_one_states_fits(const nadir_problem *problem);

nadir_status nadir_rank_one_states_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_rank_one_states *shape);
void nadir_rank_one_states_clear(nadir_context *context, nadir_rank_one_states *shape);

/* The kernel of c: [states]. b_pi: [states] <- b^pi, every entry known to averaging, where that of a sum of
 * rounded products is; *b_largest: the largest |b|, not rounded. */
void nadir_rank_one_states_read(const nadir_problem *problem, nadir_rank_one_states *shape, const double *c,
                                double *b_pi, double *b_largest);

#endif
