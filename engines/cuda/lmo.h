/* lmo.h: the linear minimisation oracle over the rows of a model; see core/device.h and lmo_l2.cu. */
#ifndef NADIR_ENGINES_CUDA_LMO_H
#define NADIR_ENGINES_CUDA_LMO_H

#include "engine.h"
#include "sorted_states.h"

/* Partial sums of the search for a threshold. */
enum { LMO_L1_ROOM = 17 * CUDA_PARTIALS };

/* Arrays are on the device. */
typedef struct cuda_lmo {
    const cuda_rows *rows;
    double gamma, p;
    bool simplex;
    nadir_device_budget budget;
    double *probabilities; /* [rows] */
    double *scales;        /* [rows], NULL: ones */
    double *weights;       /* [rows] w */
    double *x;             /* [states] */
    double *d;             /* [states] */
    nadir_device_lmo_result result;
    double mean;                    /* of x; dense models */
    double *norms;                  /* [rows] p other than 1 and 2; p = infinity: gains */
    struct lp_level *levels;        /* [rows] other p */
    struct row_solution *solutions; /* [rows] where not all rows share, p < infinity; then nothing else */
    double key, share;              /* p = 1: the threshold, and what moves of entries there */
    double *room;                   /* [LMO_L1_ROOM] p = 1 */
    /* Sparse models, domain simplex; states 0: another. */
    sorted_states sorted;
    double *omegas; /* [rows] p = 2 */
    /* Rows by column (lmo_centred.cu), once they were asked for; ~row where the value is no probability. */
    int64_t *column_starts; /* [states + 1] */
    int32_t *column_rows;   /* [entries] */
    double2 *row_factors;   /* [rows] (gamma y alpha pi)^2, and that times the mean */
    cuda_pool memory, column_memory;
} cuda_lmo;

/* The result of each norm, unit > 0, and its rows: lmo_l2.cu, lmo_l1.cu, lmo_linf.cu, lmo_lp.cu, and
 * lmo_rectangular.cu where the rows of a state share, or none do. */
nadir_status cuda_l2_solve(cuda_lmo *lmo, nadir_context *context, double beta);
void cuda_l2_write(const cuda_lmo *lmo, double *values, bool *nominal);
nadir_status cuda_l1_solve(cuda_lmo *lmo, nadir_context *context, double beta);
void cuda_l1_write(const cuda_lmo *lmo, double *values, bool *nominal);
nadir_status cuda_linf_solve(cuda_lmo *lmo, nadir_context *context, double beta);
void cuda_linf_write(const cuda_lmo *lmo, double *values, bool *nominal);
nadir_status cuda_lp_solve(cuda_lmo *lmo, nadir_context *context, double beta);
void cuda_lp_write(const cuda_lmo *lmo, double *values, bool *nominal);
nadir_status cuda_rectangular_solve(cuda_lmo *lmo, nadir_context *context, double beta);
void cuda_rectangular_write(const cuda_lmo *lmo, double *values, bool *nominal);
void cuda_l2_slack(const cuda_lmo *lmo, const cuda_perturbed *perturbed, double range, double tau);
/* lmo_simplex.cu: the same on the domain simplex of sparse models. Partial sums as those of lmo_l2.cu and
 * lmo_linf.cu. */
void cuda_simplex_pass(const cuda_lmo *lmo, int what, double kappa);
void cuda_simplex_linf(const cuda_lmo *lmo, double beta);
nadir_status cuda_simplex_write(const cuda_lmo *lmo, nadir_context *context, const cuda_perturbed *to);
void cuda_simplex_slack(const cuda_lmo *lmo, const cuda_perturbed *perturbed, double range, double tau);

/* The sums that the blocks of a pass left, in their order; largest: the largest of the first. */
nadir_status cuda_collect(const cuda_engine *engine, nadir_context *context, bool largest, double sum[2]);

/* lmo_centred.cu */
nadir_status cuda_lmo_centred_product(void *lmo, nadir_context *context, const double *y, const double *z,
                                      double *sums);

#endif
