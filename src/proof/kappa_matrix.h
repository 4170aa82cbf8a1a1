/*
 * kappa_matrix.h: the matrices of the quadratic form that bounds kappa; kappa_cholesky.c derives them.
 */
#ifndef NADIR_PROOF_KAPPA_MATRIX_H
#define NADIR_PROOF_KAPPA_MATRIX_H

#include "proof/kkt.h"

/* Symmetric matrices: [states * states], lower triangle, column after column. The numbers *_off
 * bound the 2-norms of their errors. A struct of zeros holds nothing. */
typedef struct nadir_kappa_matrix {
    int64_t states;
    const bool *is_unvisited; /* [states] */
    bool shared;              /* `rest` is G, with C C^T in it */
    double *rest;             /* E E^T or G */
    double *middle;           /* sym(C Y) */
    double *spread;           /* C H^2 C^T; shared: C Y^2 C^T */
    double *low;              /* C L C^T, L = low / high; NULL unless shared */
    double *unvisited;        /* K_N K_N^T; NULL: all states are visited */
    double rest_off, middle_off, spread_off, low_off, unvisited_off;
    double spread_norm, unvisited_norm; /* about the square roots of their 2-norms; 0: they are zero */
    double *trial;                      /* work space of kappa_cholesky.c */
    double proven;                      /* the least kappa proven so far; infinity: none */
    double theta, theta_unvisited;      /* by these numbers */
} nadir_kappa_matrix;

/* inverse: the weights of the displacement, [entries]; NULL for all one. shared: all rows allow all states,
 * and inverse is NULL. */
nadir_status nadir_kappa_matrix_make(nadir_context *context, const nadir_kkt *kkt,
                                     const nadir_occupancy_bounds *bounds,
                                     const nadir_displacement *displacement, const double *inverse,
                                     bool shared, nadir_kappa_matrix *matrix);
void nadir_kappa_matrix_clear(nadir_context *context, nadir_kappa_matrix *matrix);

#endif
