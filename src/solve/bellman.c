/* bellman.c: passes over the rows of a kernel; see bellman.h. */
#include "solve/bellman.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"

#include <float.h>
#include <math.h>

/* States that a thread takes at a time, at most. */
enum { STATES = 256 };

typedef struct bellman_job {
    const nadir_kernel *kernel;
    const nadir_model *model;
    double gamma;
    nadir_kernel_vector vector; /* v */
    const double *v;
    double tie;
    int64_t *choice;     /* maximise; NULL: average */
    const double *known; /* [rows] maximise: less `rise`, at least q; NULL: nothing is known */
    double rise;
    const double *weight; /* [rows] average */
    double *value;
    const double *products; /* [rows] where a device made them; or NULL */
} bellman_job;

static const nadir_bellman_pass nothing = {
    .lowest = INFINITY,
    .highest = -INFINITY,
    .smallest_value = INFINITY,
    .largest_value = -INFINITY,
    .finite = true,
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void join(nadir_bellman_pass *all, const nadir_bellman_pass *part)
{
    all->lowest = smaller(all->lowest, part->lowest);
    all->highest = larger(all->highest, part->highest);
    all->smallest_value = smaller(all->smallest_value, part->smallest_value);
    all->largest_value = larger(all->largest_value, part->largest_value);
    all->changed += part->changed;
    all->finite = all->finite && part->finite;
}

/* best: the largest q of the state, at least `value`. */
static void note(const bellman_job *job, int64_t s, double value, double best, nadir_bellman_pass *pass)
{
    const double v = job->v[s];
    job->value[s] = value;
    pass->lowest = smaller(pass->lowest, value - v);
    pass->highest = larger(pass->highest, best - v);
    pass->smallest_value = smaller(pass->smallest_value, value);
    pass->largest_value = larger(pass->largest_value, value);
    pass->finite = pass->finite && isfinite(value) && isfinite(best);
}

/* The states first .. end - 1. Rows that cannot be better than the chosen one are not read. */
static void maximise_states(const bellman_job *job, int64_t first, int64_t end, nadir_bellman_pass *pass)
{
    const nadir_model *model = job->model;
    for (int64_t s = first; s < end; s++) {
        int64_t best_row = job->choice[s];
        double product;
        nadir_kernel_multiply_rows(job->kernel, &job->vector, best_row, best_row + 1, &product);
        const double chosen = model->rewards[best_row] + job->gamma * product;
        double best = chosen;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const bool worse = job->known != NULL && job->known[row] + job->rise < chosen;
            if (row != job->choice[s] && !worse) {
                nadir_kernel_multiply_rows(job->kernel, &job->vector, row, row + 1, &product);
                const double q = model->rewards[row] + job->gamma * product;
                best_row = q > best ? row : best_row;
                best = larger(q, best);
            }
        }
        const bool change = !(best <= chosen + job->tie);
        note(job, s, change ? best : chosen, best, pass);
        job->choice[s] = change ? best_row : job->choice[s];
        pass->changed += change;
    }
}

static void average_states(const bellman_job *job, int64_t first, int64_t end, nadir_bellman_pass *pass)
{
    const nadir_model *model = job->model;
    for (int64_t s = first; s < end; s++) {
        double sum = 0;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            if (job->weight[row] > 0) {
                double product = job->products != NULL ? job->products[row] : 0;
                if (job->products == NULL) {
                    nadir_kernel_multiply_rows(job->kernel, &job->vector, row, row + 1, &product);
                }
                sum += job->weight[row] * (model->rewards[row] + job->gamma * product);
            }
        }
        note(job, s, sum, sum, pass);
    }
}

static void run(const nadir_context *context, const bellman_job *job, nadir_bellman_pass *pass)
{
    const nadir_model *model = job->model;
    const int64_t work = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    const int threads = nadir_threads_for(context, work);
    const int64_t share = model->states / (8 * threads) + 1;
    const int64_t step = share < STATES ? share : STATES;
    nadir_bellman_pass all = nothing;
#pragma omp parallel num_threads(threads)
    {
        nadir_bellman_pass part = nothing;
#pragma omp for schedule(dynamic) nowait
        for (int64_t first = 0; first < model->states; first += step) {
            const int64_t end = first + step < model->states ? first + step : model->states;
            (job->choice == NULL ? average_states : maximise_states)(job, first, end, &part);
        }
#pragma omp critical(nadir_bellman_join)
        join(&all, &part);
    }
    *pass = (nadir_bellman_pass){
        .lowest = nadir_allreduce_minimum(context, all.lowest),
        .highest = nadir_allreduce_maximum(context, all.highest),
        .smallest_value = nadir_allreduce_minimum(context, all.smallest_value),
        .largest_value = nadir_allreduce_maximum(context, all.largest_value),
        .changed = nadir_global_count(context, all.changed),
        .finite = nadir_allreduce_and(context, all.finite),
    };
}

void nadir_bellman_maximise(const nadir_context *context, const nadir_kernel *kernel, double gamma,
                            const double *v, double tie, const double *known, double rise, int64_t *choice,
                            double *value, nadir_bellman_pass *pass)
{
    const bellman_job job = {
        .kernel = kernel,
        .model = nadir_kernel_model(kernel),
        .gamma = gamma,
        .vector = nadir_kernel_prepare(context, kernel, v),
        .v = v,
        .tie = tie,
        .choice = choice,
        .known = known,
        .rise = rise,
        .value = value,
    };
    run(context, &job, pass);
}

void nadir_bellman_average(const nadir_context *context, const nadir_kernel *kernel, double gamma,
                           const nadir_policy *policy, const double *v, double *value,
                           nadir_bellman_pass *pass)
{
    bellman_job job = {
        .kernel = kernel,
        .model = nadir_kernel_model(kernel),
        .gamma = gamma,
        .vector = nadir_kernel_prepare(context, kernel, v),
        .v = v,
        .weight = policy->probabilities,
        .value = value,
    };
    double *products = NULL; /* without memory for them they are made here */
    if (nadir_kernel_is_on_device(context, kernel)) {
        products = nadir_memory_get(context->memory, (size_t)job.model->rows, sizeof *products);
    }
    if (products != NULL) {
        nadir_kernel_multiply(context, kernel, v, products);
        job.products = products;
    }
    run(context, &job, pass);
    nadir_memory_release(context->memory, products);
}

double nadir_bellman_rounding(const nadir_kernel_size *size, double gamma, int64_t actions,
                              double largest_reward, double largest_v)
{
    const double unit = NADIR_ROUND_UNIT;
    const double q = largest_reward + gamma * size->largest * largest_v;
    /* the product; one multiplication and one addition; the average; the difference; and what underflows,
     * less than 2^-1074 in each of fewer than 2^52 operations */
    return 1.01 * (gamma * size->rounding * largest_v + unit * ((double)actions + 4) * (q + largest_v)) +
           (q + largest_v > 0 ? DBL_MIN : 0);
}
