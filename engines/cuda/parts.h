/* parts.h: of what the engine is made. For this folder alone. */
#ifndef NADIR_ENGINES_CUDA_PARTS_H
#define NADIR_ENGINES_CUDA_PARTS_H

#include "base/engine.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

/* Numbers that a run of the iteration keeps on the device, and partial sums of reductions. */
enum { CUDA_PARTIALS = 1024, CUDA_SUMS = 4 };

/* For reports of progress. */
#define CUDA_TASK "solving"

/* Of a run of the iteration, on the device. */
typedef struct cuda_scalars {
    double rho, alpha, omega, beta;
    double residual; /* as the recurrence has it */
    double goal;
    int done; /* 1: the goal is reached, 2: the recurrence broke down */
    int steps;
} cuda_scalars;

/* The engine of a process; opened again it is the same. */
typedef struct cuda_engine {
    const nadir_engine_host *host;
    int64_t opened;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
    double limit; /* bytes that may be in use, at most */
    double used;  /* by what is kept */
    /* Columns of a block (columns.cu) of matrices that have more, and few rows are taken as many are
     * (products.cu); 0: as measured. */
    int64_t block;
    double *vectors;           /* room for vectors of a call */
    int64_t capacity;          /* numbers */
    double *partials;          /* [CUDA_SUMS * CUDA_PARTIALS] */
    struct cuda_columns *made; /* those that could be dropped for want of memory */
} cuda_engine;

/* Rows of a kernel or a matrix on the device; dense or CSR. */
typedef struct cuda_rows {
    cuda_engine *engine;
    int64_t states, rows, entries;
    int64_t *state_rows;
    double *dense;
    int64_t *starts;
    int32_t *columns;
    double *values;
    double bytes;
} cuda_rows;

/* The entries of a CSR matrix once more, by blocks of columns and in each by groups of 32 rows; see
 * columns.cu. */
typedef struct cuda_columns {
    int64_t count, groups; /* blocks, 0: not made, and groups in each */
    int64_t *starts;       /* [count * groups + 1] of groups */
    uint8_t *counts;       /* [count * groups * 32] entries of a row in a block */
    int32_t *columns;      /* [entries] */
    double *values;        /* [entries] */
    int64_t entries;
    int64_t products;          /* asked for so far */
    struct cuda_columns *next; /* in the engine's list */
} cuda_columns;

/* A count that stands for this many and more; those of its group are the 32 values before its entries. */
enum { CUDA_LONG = 255 };

/* M and, for a CSR one, its transpose once it was asked for; and L beside it. */
typedef struct cuda_matrix {
    cuda_rows of;
    struct cuda_lines *lines; /* lines.h; NULL: none */
    cuda_rows transpose;      /* starts NULL: not there */
    int64_t longest, longest_transposed;
    cuda_columns blocks[2]; /* of M and of the transpose */
} cuda_matrix;

/* Keeps what went wrong, NADIR_ERROR_MEMORY where the device had no memory left. */
nadir_status cuda_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                         cudaError_t code);
nadir_status cuda_library_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                                 int code);

/* Memory of the device, counted; refused with the sizes, once blocks of columns were dropped in vain. what:
 * for the sentence. */
nadir_status cuda_take(cuda_engine *engine, nadir_context *context, const char *what, double bytes,
                       void **block);
void cuda_give(cuda_engine *engine, double bytes, void *block);
/* The same if it is there, and nothing is dropped for it. */
bool cuda_take_spare(cuda_engine *engine, double bytes, void **block);
/* Whether so much could be taken. */
bool cuda_fits(const cuda_engine *engine, double bytes);

/* engine->vectors has room for so many numbers. */
nadir_status cuda_reserve(cuda_engine *engine, nadir_context *context, int64_t numbers);

/* Goes to `cleanup` with the status of a call of the runtime, or of a library. */
#define CUDA_TRY(engine, context, call)                                                                      \
    do {                                                                                                     \
        const cudaError_t code_of_call = (call);                                                             \
        if (code_of_call != cudaSuccess) {                                                                   \
            status = cuda_failed(engine, context, #call, code_of_call);                                      \
            goto cleanup;                                                                                    \
        }                                                                                                    \
    } while (0)
#define CUDA_LIBRARY(engine, context, call)                                                                  \
    do {                                                                                                     \
        const int code_of_call = (int)(call);                                                                \
        if (code_of_call != 0) {                                                                             \
            status = cuda_library_failed(engine, context, #call, code_of_call);                              \
            goto cleanup;                                                                                    \
        }                                                                                                    \
    } while (0)
#define CUDA_CHECK(call)                                                                                     \
    do {                                                                                                     \
        status = (call);                                                                                     \
        if (status != NADIR_OK) {                                                                            \
            goto cleanup;                                                                                    \
        }                                                                                                    \
    } while (0)
/* After a launch. */
#define CUDA_LAUNCHED(engine, context) CUDA_TRY(engine, context, cudaGetLastError())

static inline unsigned cuda_blocks(int64_t count, int64_t each)
{
    const int64_t blocks = (count + each - 1) / each;
    return blocks < 1 ? 1u : blocks > 2147483647 ? 2147483647u : (unsigned)blocks;
}

/* rows.cu */
nadir_status cuda_keep(void *self, nadir_context *context, const nadir_device_rows *rows, void **kept);
void cuda_drop(void *kept);
nadir_status cuda_multiply(void *kept, nadir_context *context, const double *x, double *y);
nadir_status cuda_minimum(void *kept, nadir_context *context, const double *b, const double *k,
                          double *minimum);
nadir_status cuda_rows_copy(cuda_engine *engine, nadir_context *context, const nadir_device_rows *from,
                            cuda_rows *to);
void cuda_rows_clear(cuda_rows *rows);

/* average.cu */
nadir_status cuda_average(void *kept, nadir_context *context, const double *probabilities, void **matrix,
                          nadir_device_facts *facts);
nadir_status cuda_upload(void *self, nadir_context *context, const nadir_device_rows *rows, void **matrix,
                         nadir_device_facts *facts);
void cuda_release(void *matrix);
nadir_status cuda_fetch(void *matrix, nadir_context *context, double *dense, int64_t *starts,
                        int32_t *columns, double *values);

/* lines.cu, lines_make.cu */
double cuda_lines_roundings(const void *matrix, bool transposed);
nadir_status cuda_fetch_lines(const void *matrix, nadir_context *context, const nadir_device_tail *to);

/* products.cu: Y = shift X + scale (M + L) X on the device; y may not be x. */
nadir_status cuda_apply(cuda_matrix *matrix, nadir_context *context, bool transposed, int64_t count,
                        double shift, double scale, const double *x, double *y);
/* The same for two vectors side by side and a CSR matrix. */
nadir_status cuda_apply_pair(cuda_matrix *matrix, nadir_context *context, bool transposed, double shift,
                             double scale, const double2 *x, double2 *y);
nadir_status cuda_rows_apply(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                             const double *x, double *y);
nadir_status cuda_combine(void *matrix, nadir_context *context, bool transposed, int64_t count, double shift,
                          double scale, const double *x, double *y);
bool cuda_longest_transposed(const void *matrix, int64_t *longest);

/* numbers.cu: numbers of other kernels in the places of the model's. */
typedef struct cuda_numbers {
    cuda_engine *engine;
    int64_t states, rows, entries;
    double *values; /* [entries] */
    bool *nominal;  /* [rows] */
    /* Spread: as nadir_perturbed in kernel/kernel.h; omega NULL: not so. */
    double *omega, *slope; /* [rows] */
    int32_t *length;       /* [rows] */
    int32_t *extra;        /* [rows] -1: none */
    double *amount;        /* [rows] */
    double *x;             /* [states] */
    int32_t *order;        /* [states] */
} cuda_numbers;
/* Nothing is written to the arrays. */
nadir_status cuda_numbers_make(const cuda_rows *rows, nadir_context *context, bool spread,
                               cuda_numbers **numbers);
nadir_status cuda_bring(const void *numbers, nadir_context *context, const nadir_device_perturbed *to);
nadir_status cuda_put(void *kept, nadir_context *context, const nadir_device_perturbed *from, void **numbers);
void cuda_forget(void *numbers);
nadir_status cuda_average_values(void *kept, nadir_context *context, const void *values,
                                 const double *probabilities, void **matrix, nadir_device_facts *facts);

/* Partial sums of the search for a threshold. */
enum { CUDA_THRESHOLD_ROOM = 17 * CUDA_PARTIALS };

/* steps.cu, centred.cu: the linear step over rows. Arrays are on the device. */
typedef struct cuda_step {
    const cuda_rows *rows;
    double gamma, p;
    bool simplex;
    nadir_device_budget shares;
    double *probabilities; /* [rows] */
    double *scales;        /* [rows], NULL: ones */
    double *weights;       /* [rows] w */
    double *x;             /* [states] */
    double *d;             /* [states] */
    nadir_device_lmo_result answer;
    double mean;                    /* of x; dense models */
    double *norms;                  /* [rows] p other than 1 and 2; p = infinity: gains */
    struct power_level *levels;     /* [rows] other p */
    struct row_solution *solutions; /* [rows] where not all rows share, p < infinity; then nothing else */
    double *gains;                  /* [states] likewise */
    double key, share;              /* p = 1: the threshold, and what moves of entries there */
    double *room;                   /* [CUDA_THRESHOLD_ROOM] p = 1 */
    double *found;                  /* the same here */
    /* Rows by column, once they were asked for; ~row where the number is no probability. */
    int64_t *column_starts;     /* [states + 1] */
    int32_t *column_rows;       /* [entries] */
    double2 *pulls;             /* [rows] (gamma y alpha pi)^2, and that times the mean */
    struct cuda_spread *spread; /* sparse models, domain simplex */
} cuda_step;
nadir_status cuda_step_open(void *kept, nadir_context *context, const nadir_device_ball *ball, void **step);
void cuda_step_close(void *step);
nadir_status cuda_step_answer(void *step, nadir_context *context, double beta, const double *x,
                              const double *d, nadir_device_lmo_result *answer);
/* capped.cu, thresholds.cu, powers.cu: the answer of other norms, unit > 0, and its rows. */
nadir_status cuda_capped_answer(cuda_step *step, nadir_context *context, double beta);
void cuda_capped_write(const cuda_step *step, double *values, bool *nominal);
nadir_status cuda_threshold_answer(cuda_step *step, nadir_context *context, double beta);
void cuda_threshold_write(const cuda_step *step, double *values, bool *nominal);
/* spread.cu: the same on the domain simplex of sparse models; `look` once x is there. Partial sums as those
 * of steps.cu and capped.cu. */
nadir_status cuda_spread_open(cuda_step *step, nadir_context *context);
void cuda_spread_close(cuda_step *step);
nadir_status cuda_spread_look(const cuda_step *step, nadir_context *context);
void cuda_spread_pass(const cuda_step *step, int what, double kappa);
void cuda_spread_capped(const cuda_step *step, double beta);
nadir_status cuda_spread_write(const cuda_step *step, nadir_context *context, const cuda_numbers *to);
void cuda_spread_slack(const cuda_step *step, const cuda_numbers *numbers, double range, double tau);
nadir_status cuda_power_answer(cuda_step *step, nadir_context *context, double beta);
void cuda_power_write(const cuda_step *step, double *values, bool *nominal);
/* rectangular.cu: the same where the rows of a state share, or none do. */
nadir_status cuda_rectangular_answer(cuda_step *step, nadir_context *context, double beta);
void cuda_rectangular_write(const cuda_step *step, double *values, bool *nominal);
/* What the blocks of a pass left, added up here, in their order; largest: of the first of both, the largest.
 */
nadir_status cuda_collect(const cuda_engine *engine, nadir_context *context, bool largest, double sum[2]);
nadir_status cuda_step_gains(void *step, nadir_context *context, double *gains);
nadir_status cuda_step_values(void *step, nadir_context *context, void **numbers);
nadir_status cuda_step_slack(void *step, nadir_context *context, const void *numbers, double range,
                             double tau, double *slack);
nadir_status cuda_step_centred(void *step, nadir_context *context, const double *y, const double *z,
                               double *sums);

/* columns.cu: makes blocks of columns where products with these rows are worth them and they fit; otherwise
 * nothing is made, which is no failure. */
nadir_status cuda_columns_make(const cuda_rows *rows, nadir_context *context, cuda_columns *blocks);
void cuda_columns_clear(cuda_engine *engine, cuda_columns *blocks);
/* Gives their memory back; they are not made again. */
void cuda_columns_drop(cuda_engine *engine, cuda_columns *blocks);

/* transpose.cu: makes matrix->transpose. */
nadir_status cuda_transpose(cuda_matrix *matrix, nadir_context *context);
nadir_status cuda_order(void *self, nadir_context *context, int64_t count, const double *x, int32_t *order);
/* starts[i + 1] <- the sum of counts[0 .. i]; both on the device. */
nadir_status cuda_starts(cuda_engine *engine, nadir_context *context, int64_t count, const int32_t *counts,
                         int64_t *starts);

/* look.cu */
nadir_status cuda_look(void *matrix, nadir_context *context, const nadir_device_matrix_sums *look);

/* factor.cu */
nadir_status cuda_factor(void *matrix, nadir_context *context, double gamma, void **factors,
                         nadir_device_dominance *dominance, int64_t *bytes);
nadir_status cuda_solve(void *factors, nadir_context *context, bool transposed, int64_t count,
                        const double *b, double *x);
void cuda_release_factors(void *factors);

/* iterate.cu */
nadir_status cuda_iterate(void *matrix, nadir_context *context, const nadir_device_system *system,
                          const double *b, double *x, nadir_device_solve_result *outcome);

/* iterate_many.cu */
nadir_status cuda_iterate_many(void *matrix, nadir_context *context, const nadir_device_system *system,
                               int64_t count, const double *b, double *x,
                               nadir_device_solve_result *outcomes);

/* batch.cu: x <- A^-1 x for many systems of one size; A becomes its factors. Arrays are on the device. */
typedef struct cuda_batch {
    int64_t size, count;
    double **A;    /* [count] each [size * size], row after row */
    double **x;    /* [count] each [size] */
    int *pivots;   /* [count * size] */
    int *singular; /* [count] 0: it is not, and x is the solution */
} cuda_batch;
nadir_status cuda_batch_solve(cuda_engine *engine, nadir_context *context, const cuda_batch *batch);

/* returns.cu */
nadir_status cuda_returns(void *kept, nadir_context *context, const nadir_device_returns *returns,
                          int64_t count, const double *probabilities, nadir_device_return *found);

#endif
