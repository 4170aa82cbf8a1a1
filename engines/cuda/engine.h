/* engine.h: the engine, its memory, and the objects that files of this folder share. */
#ifndef NADIR_ENGINES_CUDA_ENGINE_H
#define NADIR_ENGINES_CUDA_ENGINE_H

#include "core/engine.h"

#include <cstdlib>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

/* Partial sums of reductions: CUDA_SUMS kinds of at most CUDA_PARTIALS blocks. */
enum { CUDA_PARTIALS = 1024, CUDA_SUMS = 4 };

/* For reports of progress. */
#define CUDA_TASK "solving"

/* The engine of a process; opened again it is the same. */
typedef struct cuda_engine {
    const nadir_engine_host *host;
    int64_t opened;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t parameters;
    double limit; /* bytes that may be in use, at most */
    double used;  /* by what is kept */
    /* Columns of a block (column_blocks.cu) of matrices that have more, and few rows are multiplied as many
     * are (products.cu); 0: as measured. */
    int64_t block;
    double *workspace;                    /* vectors of a call */
    int64_t capacity;                     /* numbers */
    double *partials;                     /* [CUDA_SUMS * CUDA_PARTIALS] */
    struct cuda_column_blocks *droppable; /* could be dropped for want of memory */
} cuda_engine;

/* Device arrays that are freed together. what: for messages. */
typedef struct cuda_pool {
    cuda_engine *engine;
    const char *what;
    double bytes = 0;
    struct cuda_array *first = NULL;
} cuda_pool;

/* Rows of a kernel or a matrix on the device; dense or CSR. */
typedef struct cuda_rows {
    cuda_engine *engine;
    int64_t states, rows, entries;
    int64_t *state_rows;
    double *dense;
    int64_t *starts;
    int32_t *columns;
    double *values;
    cuda_pool memory; /* empty: a view */
} cuda_rows;

/* The entries of a CSR matrix once more, by blocks of columns and in each by groups of 32 rows; see
 * column_blocks.cu. */
typedef struct cuda_column_blocks {
    int64_t count, groups; /* blocks, 0: not made, and groups in each */
    int64_t *starts;       /* [count * groups + 1] of groups */
    uint8_t *counts;       /* [count * groups * 32] entries of a row in a block */
    int32_t *columns;      /* [entries] */
    double *values;        /* [entries] */
    int64_t entries;
    int64_t products; /* asked for so far */
    cuda_pool memory;
    struct cuda_column_blocks *next; /* in the engine's list */
} cuda_column_blocks;

/* A count that stands for this many and more; those of its group are the 32 values before its entries. */
enum { CUDA_LONG = 255 };

/* M and, for a CSR one, its transpose once it was asked for; and the off-support tail L beside it. */
typedef struct cuda_matrix {
    cuda_rows rows;
    cuda_rows transpose;    /* starts NULL: not there */
    struct cuda_tail *tail; /* offsupport_tail.h; NULL: none */
    int64_t longest_column;
    cuda_column_blocks blocks[2]; /* of M and of the transpose */
} cuda_matrix;

/* A kernel with other values on the model's successors and, if it has a tail, on other states too; see
 * nadir_device_perturbed. */
typedef struct cuda_perturbed {
    int64_t states, rows, entries;
    double *values; /* [entries] */
    bool *nominal;  /* [rows] */
    /* The tail: omega NULL: none. */
    double *omega, *slope; /* [rows] */
    int32_t *length;       /* [rows] */
    int32_t *extra;        /* [rows] -1: none */
    double *amount;        /* [rows] */
    double *x;             /* [states] */
    int32_t *order;        /* [states] */
    cuda_pool memory;
} cuda_perturbed;

/* Report what went wrong: NADIR_ERROR_MEMORY where the device had no memory left. */
nadir_status cuda_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                         cudaError_t code);
nadir_status cuda_library_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                                 int code);

/* Goes to `cleanup` with the status of a call of the runtime, of a library, or of the engine. */
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

/* Device memory, counted. Refused with the sizes, after column blocks were dropped in vain. */
nadir_status cuda_take(cuda_pool *pool, nadir_context *context, double bytes, void **array);
/* The same if it is free: nothing is dropped for it. */
bool cuda_take_spare(cuda_pool *pool, double bytes, void **array);
void cuda_pool_free(cuda_pool *pool);
/* Whether so much could be taken. */
bool cuda_fits(const cuda_engine *engine, double bytes);

template <typename ITEM>
static inline nadir_status cuda_new(cuda_pool *pool, nadir_context *context, int64_t count, ITEM **array)
{
    return cuda_take(pool, context, (double)count * sizeof(ITEM), (void **)array);
}

template <typename ITEM> static inline bool cuda_new_spare(cuda_pool *pool, int64_t count, ITEM **array)
{
    return cuda_take_spare(pool, (double)count * sizeof(ITEM), (void **)array);
}

/* A host struct of zeros. */
template <typename OBJECT>
static inline nadir_status cuda_object(const cuda_engine *engine, nadir_context *context, OBJECT **made)
{
    *made = (OBJECT *)calloc(1, sizeof **made);
    return *made != NULL ? NADIR_OK : engine->host->fail(context, NADIR_ERROR_MEMORY, "out of memory");
}

/* engine->workspace has room for so many numbers. */
nadir_status cuda_reserve(cuda_engine *engine, nadir_context *context, int64_t numbers);

/* to <- from, [count]; either may be the caller's memory or the device's. */
template <typename ITEM>
static inline nadir_status cuda_copy(const cuda_engine *engine, nadir_context *context, int64_t count,
                                     const ITEM *from, ITEM *to)
{
    nadir_status status = NADIR_OK;
    CUDA_TRY(engine, context, cudaMemcpy(to, from, (size_t)count * sizeof *to, cudaMemcpyDefault));
cleanup:
    return status;
}

/* A call of CUB, call(work, bytes), with the work space that it asks for. */
template <typename CALL>
static inline nadir_status cuda_with_work(cuda_engine *engine, nadir_context *context, const char *what,
                                          CALL call)
{
    nadir_status status = NADIR_OK;
    size_t bytes = 0;
    char *work = NULL;
    cuda_pool pool = {engine, what};
    CUDA_TRY(engine, context, call(NULL, bytes));
    CUDA_CHECK(cuda_new(&pool, context, (int64_t)bytes, &work));
    CUDA_TRY(engine, context, call(work, bytes));
cleanup:
    cuda_pool_free(&pool);
    return status;
}

static inline unsigned cuda_blocks(int64_t count, int64_t each)
{
    const int64_t blocks = (count + each - 1) / each;
    return blocks < 1 ? 1u : blocks > 2147483647 ? 2147483647u : (unsigned)blocks;
}

/* Each enters the functions of its file into the table of core/device.h. */
void cuda_average_enter(nadir_device *table);
void cuda_bicgstab_enter(nadir_device *table);
void cuda_gstd_enter(nadir_device *table);
void cuda_lmo_enter(nadir_device *table);
void cuda_lu_enter(nadir_device *table);
void cuda_matrix_sums_enter(nadir_device *table);
void cuda_perturbed_enter(nadir_device *table);
void cuda_products_enter(nadir_device *table);
void cuda_returns_enter(nadir_device *table);
void cuda_rows_enter(nadir_device *table);
void cuda_tail_enter(nadir_device *table);
void cuda_vec_enter(nadir_device *table);

/* rows.cu */
nadir_status cuda_rows_copy(cuda_engine *engine, nadir_context *context, const nadir_device_rows *from,
                            cuda_rows *to);
void cuda_rows_clear(cuda_rows *rows);

/* perturbed.cu: the arrays are not filled. */
nadir_status cuda_perturbed_make(const cuda_rows *rows, nadir_context *context, bool tail,
                                 cuda_perturbed **made);
void cuda_perturbed_free(void *perturbed);

/* products.cu: Y = shift X + scale (M + L) X on the device; y may not be x. */
nadir_status cuda_apply(cuda_matrix *matrix, nadir_context *context, bool transposed, int64_t count,
                        double shift, double scale, const double *x, double *y);
/* The same for two vectors side by side and a CSR matrix. */
nadir_status cuda_apply_pair(cuda_matrix *matrix, nadir_context *context, bool transposed, double shift,
                             double scale, const double2 *x, double2 *y);
nadir_status cuda_rows_apply(const cuda_rows *rows, nadir_context *context, double shift, double scale,
                             const double *x, double *y);

/* column_blocks.cu: makes column blocks where products with these rows are worth them and they fit; otherwise
 * nothing is made, which is no failure. */
nadir_status cuda_column_blocks_make(const cuda_rows *rows, nadir_context *context,
                                     cuda_column_blocks *blocks);
void cuda_column_blocks_clear(cuda_engine *engine, cuda_column_blocks *blocks);
/* Gives their memory back; they are not made again. */
void cuda_column_blocks_drop(cuda_engine *engine, cuda_column_blocks *blocks);

/* transpose.cu: makes matrix->transpose. */
nadir_status cuda_transpose(cuda_matrix *matrix, nadir_context *context);
/* starts[i + 1] <- the sum of counts[0 .. i]; both on the device. */
nadir_status cuda_starts(cuda_engine *engine, nadir_context *context, int64_t count, const int32_t *counts,
                         int64_t *starts);
/* numbers[i] <- i; on the device. */
nadir_status cuda_count_up(cuda_engine *engine, nadir_context *context, int64_t count, int32_t *numbers);

/* vec.cu: whether an address is one of the device. */
bool cuda_is_device_address(const double *x);

#endif
