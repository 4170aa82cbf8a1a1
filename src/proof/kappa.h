/* kappa.h: kappa <= 1/2 (kkt.h) by the matrices of a quadratic form, which kappa.c derives, or by norms alone. */
#ifndef NADIR_PROOF_KAPPA_H
#define NADIR_PROOF_KAPPA_H

#include "proof/certificate.h"
#include "proof/kkt.h"

/* Symmetric matrices: [states * states], lower triangle, column after column. The numbers *_off
 * bound the 2-norms of their errors. A struct of zeros holds nothing. */
typedef struct nadir_kappa_matrix {
    int64_t states;
    const bool *is_unvisited; /* [states] */
    bool shared;              /* `rest` is G, with C C^T in it */
    double *rest;             /* E E^T or G */
    double *middle;           /* sym(C M), M = (1 + L) / 2 */
    double *spread;           /* C H^2 C^T, H = (1 - L) / 2; shared: C M^2 C^T */
    double *low;              /* C L C^T, L = low / high; NULL unless shared */
    double *unvisited;        /* K_N K_N^T; NULL: all states are visited */
    double *n;                /* [states] n_t of the displacement */
    double rest_off, middle_off, spread_off, low_off, unvisited_off, radial_off;
    double spread_norm, unvisited_norm; /* about the square roots of their 2-norms; 0: they are zero */
    double *trial;                      /* work space of kappa.c */
    double reach;                       /* H^2 + f of kappa.c; infinity: there is no radial term */
    double proven;                      /* the least kappa proven so far; infinity: none */
    double k, radial;                   /* by these numbers */
    double theta, theta_unvisited;
} nadir_kappa_matrix;

/* inverse_weights: the weights of the displacement, [entries]; NULL for all one. shared: all rows allow all states,
 * and inverse_weights is NULL. */
nadir_status nadir_kappa_matrix_make(nadir_context *context, const nadir_kkt *kkt,
                                     const nadir_occupancy_bounds *bounds,
                                     const nadir_displacement *displacement, const double *inverse_weights,
                                     bool shared, nadir_kappa_matrix *matrix);
void nadir_kappa_matrix_clear(nadir_context *context, nadir_kappa_matrix *matrix);

/*
 * The number kappa that decides whether a stationary kernel is the worst one, proven by a
 * Cholesky factorisation.
 *
 * For all kernels P within the bounds on occupancies, with delta = P - P* in the norm of the displacement and
 * Delta, d, n, w as in kkt.h,
 *
 *     sum over t of (d_P(t) / d(t) - 1) <Delta_t, delta_t>  <=  kappa |delta|^2,
 *
 * so that J_P >= J* - error + 2 tau (1/2 - kappa) |delta|^2: kappa <= 1/2 proves J_U >= J* - error. See
 * kappa.c for the quadratic form. With a radial term kappa has this meaning for kernels with J_P < J* - error alone, and
 * J_P is less by 2 tau r f^2 at most.
 */

/* For theta: kappa is bounded by the norm of G alone (`shared`, all states visited). */
#define NADIR_KAPPA_BY_NORM (-1.0)

/* Proves kappa <= k + radial reach by one Cholesky factorisation, rounding included: the matrix of kappa.c is
 * positive definite for these numbers. theta and theta_unvisited are 0 exactly where matrix->spread_norm and
 * unvisited_norm are. Where it holds for a smaller kappa than before, matrix->proven becomes that. */
bool nadir_kappa_cholesky_holds(const nadir_context *context, nadir_kappa_matrix *matrix, double k,
                                double radial, double theta, double theta_unvisited);

/* Where kappa is more than this with the least that |Phi D| can be, columns of D do not bring it to 1/2
 * either: on random dense kernels of 20 to 300 states they did at 0.40, 0.30, 0.20, and never above. */
#define NADIR_KAPPA_HOPELESS 0.55

/* kappa by norms alone, without columns of D or factors, for kernels that mix fast. Where kappa > 1/2 the
 * certificate keeps what it had, except `hopeless`. O(states^2) and a few solves; 2/3 states^3 where that may
 * suffice. bounds: on the occupancies of all kernels of the set; tau > 0. */
nadir_status nadir_kappa_by_norms_prove(nadir_context *context, const nadir_problem *problem,
                                        const nadir_perturbable_rows *perturbable,
                                        const nadir_occupancy_bounds *bounds, double beta,
                                        const nadir_candidate *candidate, nadir_certificate *proof);

#endif
