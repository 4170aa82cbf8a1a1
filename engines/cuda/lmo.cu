/*
 * lmo.cu: the linear minimisation oracle over the rows of a model as an object: min sum over rows of w X . x,
 * X in the ball. lmo_l2.cu has p = 2, lmo_l1.cu p = 1, lmo_linf.cu p = infinity, and lmo_lp.cu all others;
 * lmo_simplex.cu has sparse models on the domain simplex, and lmo_rectangular.cu rectangular sets.
 */
#include "lmo_rows.h"
#include "row_group.h"

#include <cmath>

/* An array of zeros, one for each row. */
template <typename ITEM> static nadir_status new_zero(cuda_lmo *lmo, nadir_context *context, ITEM **array)
{
    nadir_status status = NADIR_OK;
    CUDA_CHECK(cuda_new(&lmo->memory, context, lmo->rows->rows, array));
    CUDA_TRY(lmo->rows->engine, context, cudaMemset(*array, 0, (size_t)lmo->rows->rows * sizeof **array));
cleanup:
    return status;
}

/* What norms other than 2 keep. */
static nadir_status open_norm(cuda_lmo *lmo, nadir_context *context)
{
    const nadir_status status = lmo->p == 1 ? cuda_new(&lmo->memory, context, LMO_L1_ROOM, &lmo->room)
                                            : new_zero(lmo, context, &lmo->norms);
    return status != NADIR_OK || lmo->p == 1 || std::isinf(lmo->p) ? status
                                                                   : new_zero(lmo, context, &lmo->levels);
}

/* For p = infinity it does not matter who shares. */
static bool is_rectangular(const nadir_device_ball *ball)
{
    return ball->shares != NADIR_DEVICE_ALL_ROWS && !std::isinf(ball->p);
}

/* Whether there is code for the ball. */
static bool is_supported(const cuda_rows *rows, const nadir_device_ball *ball)
{
    if (ball->shares != NADIR_DEVICE_ALL_ROWS) {
        return std::isinf(ball->p) || (rows->dense == NULL && !ball->simplex);
    }
    const bool plain = ball->p == 1 || ball->p == 2 || std::isinf(ball->p);
    return rows->dense != NULL || !ball->simplex || plain;
}

static void free_lmo(void *self)
{
    cuda_lmo *lmo = (cuda_lmo *)self;
    if (lmo != NULL) {
        cuda_pool_free(&lmo->memory);
        cuda_pool_free(&lmo->column_memory);
        free(lmo);
    }
}

static nadir_status create(void *self, nadir_context *context, const nadir_device_ball *ball, void **result)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = (const cuda_rows *)self;
    cuda_engine *engine = rows->engine;
    cuda_lmo *made = NULL;
    *result = NULL;
    if (!is_supported(rows, ball)) {
        return NADIR_OK;
    }
    CUDA_CHECK(cuda_object(engine, context, &made));
    made->rows = rows;
    made->gamma = ball->gamma;
    made->p = ball->p;
    made->simplex = ball->simplex;
    made->budget = ball->shares;
    made->memory = {engine, "the rows of linear steps"};
    made->column_memory = {engine, "the rows of linear steps"};
    CUDA_CHECK(cuda_new(&made->memory, context, rows->rows, &made->probabilities));
    CUDA_CHECK(cuda_new(&made->memory, context, rows->rows, &made->weights));
    CUDA_CHECK(cuda_new(&made->memory, context, rows->states, &made->x));
    CUDA_CHECK(cuda_new(&made->memory, context, rows->states, &made->d));
    CUDA_CHECK(cuda_copy(engine, context, rows->rows, ball->probabilities, made->probabilities));
    if (ball->scales != NULL) {
        CUDA_CHECK(cuda_new(&made->memory, context, rows->rows, &made->scales));
        CUDA_CHECK(cuda_copy(engine, context, rows->rows, ball->scales, made->scales));
    }
    if (is_rectangular(ball)) {
        CUDA_CHECK(new_zero(made, context, &made->solutions));
    } else if (ball->p != 2) {
        CUDA_CHECK(open_norm(made, context));
    }
    if (ball->simplex && rows->dense == NULL) {
        if (ball->p == 2) {
            CUDA_CHECK(cuda_new(&made->memory, context, rows->rows, &made->omegas));
        }
        CUDA_CHECK(cuda_sorted_open(&made->memory, context, rows->states, ball->p, &made->sorted));
    }
    *result = made;
    made = NULL;
cleanup:
    free_lmo(made);
    return status;
}

/* w, and in the partials the largest alpha w of each block. shared: without d, w is pi. */
static __global__ void weigh_rows(int64_t states, const int64_t *state_rows, double gamma, bool shared,
                                  const double *probabilities, const double *scales, const double *d,
                                  double *weights, double *partials)
{
    double largest = 0;
    for (int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x; s < states;
         s += (int64_t)BLOCKS * THREADS) {
        const double visits = d == NULL ? 0 : gamma * (d[s] > 0 ? d[s] : 0);
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double used = shared ? probabilities[row] : probabilities[row] > 0 ? 1 : 0;
            const double weight = d == NULL ? used : visits * probabilities[row];
            weights[row] = weight;
            largest = fmax(largest, scale_of(scales, row) * weight);
        }
    }
    cuda_leave(true, largest, partials);
}

/* The weights of all rows, and the largest alpha w. */
static nadir_status weigh(cuda_lmo *lmo, nadir_context *context, const double *d)
{
    nadir_status status = NADIR_OK;
    const cuda_rows *rows = lmo->rows;
    cuda_engine *engine = rows->engine;
    double found[2];
    if (d != NULL) {
        CUDA_CHECK(cuda_copy(engine, context, rows->states, d, lmo->d));
    }
    weigh_rows<<<BLOCKS, THREADS>>>(rows->states, rows->state_rows, lmo->gamma,
                                    lmo->budget == NADIR_DEVICE_STATES, lmo->probabilities, lmo->scales,
                                    d != NULL ? lmo->d : NULL, lmo->weights, engine->partials);
    CUDA_CHECK(cuda_collect(engine, context, true, found));
    lmo->result.unit = found[0];
cleanup:
    return status;
}

static nadir_status solve(void *self, nadir_context *context, double beta, const double *x, const double *d,
                          nadir_device_lmo_result *result)
{
    nadir_status status = NADIR_OK;
    cuda_lmo *lmo = (cuda_lmo *)self;
    const cuda_rows *rows = lmo->rows;
    const double before = lmo->result.step;
    lmo->result = {};
    lmo->result.step = before;
    lmo->mean = 0;
    for (int64_t t = 0; t < rows->states && rows->dense != NULL; t++) {
        lmo->mean += x[t] / (double)rows->states;
    }
    CUDA_CHECK(cuda_copy(rows->engine, context, rows->states, x, lmo->x));
    if (lmo->sorted.states > 0) {
        CUDA_CHECK(cuda_sorted_make(rows->engine, context, lmo->x, &lmo->sorted));
    }
    CUDA_CHECK(weigh(lmo, context, d));
    if (lmo->result.unit > 0 && beta > 0) {
        CUDA_CHECK((lmo->solutions != NULL ? cuda_rectangular_solve
                    : lmo->p == 2          ? cuda_l2_solve
                    : lmo->p == 1          ? cuda_l1_solve
                    : std::isinf(lmo->p)   ? cuda_linf_solve
                                           : cuda_lp_solve)(lmo, context, beta));
    }
    *result = lmo->result;
cleanup:
    return status;
}

static nadir_status write_kernel(void *self, nadir_context *context, void **perturbed)
{
    nadir_status status = NADIR_OK;
    const cuda_lmo *lmo = (const cuda_lmo *)self;
    const bool tail = lmo->sorted.states > 0;
    cuda_perturbed *made = NULL;
    CUDA_CHECK(cuda_perturbed_make(lmo->rows, context, tail, &made));
    if (tail) {
        CUDA_CHECK(cuda_simplex_write(lmo, context, made));
    } else {
        (lmo->solutions != NULL ? cuda_rectangular_write
         : lmo->p == 2          ? cuda_l2_write
         : lmo->p == 1          ? cuda_l1_write
         : std::isinf(lmo->p)   ? cuda_linf_write
                                : cuda_lp_write)(lmo, made->values, made->nominal);
    }
    CUDA_LAUNCHED(lmo->rows->engine, context);
    *perturbed = made;
    made = NULL;
cleanup:
    cuda_perturbed_free(made);
    return status;
}

/* gains(s) <- sum over a of pi gain; gains of rows are `apart` numbers from each other. */
static __global__ void add_gains(cuda_rows rows, const double *probabilities, const double *row_gains,
                                 int64_t apart, double *gains)
{
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s < rows.states) {
        double gain = 0;
        for (int64_t row = rows.state_rows[s]; row < rows.state_rows[s + 1]; row++) {
            gain += probabilities[row] * row_gains[row * apart];
        }
        gains[s] = gain;
    }
}

static nadir_status gains(void *self, nadir_context *context, double *to)
{
    nadir_status status = NADIR_OK;
    const cuda_lmo *lmo = (const cuda_lmo *)self;
    const cuda_rows *rows = lmo->rows;
    cuda_engine *engine = rows->engine;
    const bool rectangular = lmo->solutions != NULL;
    const double *from = rectangular ? &lmo->solutions->gain : lmo->norms;
    const int64_t apart = rectangular ? sizeof *lmo->solutions / sizeof *from : 1;
    CUDA_CHECK(cuda_reserve(engine, context, rows->states));
    add_gains<<<cuda_blocks(rows->states, THREADS), THREADS>>>(*rows, lmo->probabilities, from, apart,
                                                               engine->workspace);
    CUDA_LAUNCHED(engine, context);
    CUDA_CHECK(cuda_copy(engine, context, rows->states, engine->workspace, to));
cleanup:
    return status;
}

static nadir_status slack(void *self, nadir_context *context, const void *perturbed, double range, double tau,
                          double *result)
{
    const cuda_lmo *lmo = (const cuda_lmo *)self;
    double sum[2] = {0, 0};
    (lmo->sorted.states > 0 ? cuda_simplex_slack : cuda_l2_slack)(lmo, (const cuda_perturbed *)perturbed,
                                                                  range, tau);
    const nadir_status status = cuda_collect(lmo->rows->engine, context, false, sum);
    *result = sum[0];
    return status;
}

void cuda_lmo_enter(nadir_device *table)
{
    table->lmo_create = create;
    table->lmo_free = free_lmo;
    table->lmo_solve = solve;
    table->lmo_gains = gains;
    table->lmo_kernel = write_kernel;
    table->lmo_slack = slack;
    table->lmo_centred_product = cuda_lmo_centred_product;
}
