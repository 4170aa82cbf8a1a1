/* value.c: value, occupancy and return of a policy, and passes over the rows of a kernel; see value.h. */
#include "solve/value.h"

#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "model/landing.h"

#include <float.h>
#include <math.h>

void nadir_value_clear(nadir_context *context, nadir_value *value)
{
    NADIR_RELEASE(context, value->v, value->d);
    *value = (nadir_value){0};
}

nadir_status nadir_value_check_given(nadir_context *context, const nadir_model *model)
{
    if (isnan(model->discount)) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "the model has no discount; give one, e.g. --discount 0.95");
    }
    if (model->rewards == NULL) {
        return nadir_fail(context, NADIR_ERROR_MODEL,
                          "the model has no rewards; PRISM and PETSc models take them from a file of their "
                          "own, --rewards");
    }
    return NADIR_OK;
}

nadir_status nadir_value_check_model(nadir_context *context, const nadir_model *model)
{
    NADIR_TRY(nadir_value_check_given(context, model));
    return model->discount < 1 || model->terminal != NULL
               ? NADIR_OK
               : nadir_fail(
                     context, NADIR_ERROR_ILL_POSED,
                     "the discount is 1: without a horizon returns are infinite unless the process ends; "
                     "give a discount below 1, a number of steps (--horizon of evaluate, sweep and "
                     "solve), or say that rewards are totals (`total` of the model)");
}

/* |x|_1, rounded up. */
static double norm_1(const nadir_context *context, int64_t count, const double *x)
{
    const double total = (double)nadir_global_count(context, count);
    return nadir_round_up(nadir_global_norm_1(context, count, x), total);
}

static int64_t most_actions(const nadir_context *context, const nadir_model *model)
{
    return (int64_t)nadir_allreduce_maximum(context, (double)nadir_model_most_actions(model));
}

/*
 * The solves are as good as they say for the averages as they were rounded. Averaging over A actions is off
 * by at most (A + 2) eps/2 of each entry, which is one more residual:
 *
 *     of v:  (|R^pi|_inf + gamma |P^pi| |v|_inf)     of d:  gamma |P^pi| |d|_1
 */
static void bound_errors(const nadir_context *context, const nadir_model *model, nadir_occupancy *occupancy,
                         const double *rewards, const nadir_accuracy *of_v, const nadir_accuracy *of_d,
                         nadir_value *value)
{
    const int64_t n = model->states;
    const double norm = nadir_occupancy_gamma(occupancy) * nadir_occupancy_average(occupancy)->norm;
    const double gap = nadir_occupancy_gap(occupancy);
    const double unit = NADIR_ROUND_UNIT * (double)(most_actions(context, model) + 2);
    const double v_size = nadir_global_largest(context, n, value->v);
    const double d_size = norm_1(context, n, value->d);
    const double reward = nadir_landing_reward_size(context, model, nadir_occupancy_average(occupancy)->norm);
    value->residual = of_v->residual;
    value->v_error = gap > 0 ? of_v->error_bound + unit * (reward + norm * v_size) / gap : INFINITY;
    value->d_error = gap > 0 ? of_d->error_bound + unit * norm * d_size / gap : INFINITY;
    double rounding;
    double dual_rounding;
    value->J = nadir_global_dot(context, n, model->initial, value->v, &rounding);
    value->J_dual = nadir_global_dot(context, n, value->d, rewards, &dual_rounding);
    /* |J - mu.v| <= |mu|_1 |error of v|_inf, |J - d.R| <= |error of d|_1 |R|_inf: the better of both */
    const double mu = norm_1(context, n, model->initial);
    const double primal = rounding + mu * value->v_error;
    const double dual = dual_rounding + value->d_error * reward + d_size * unit * reward +
                        fabs(value->J - value->J_dual) * (1 + 4 * NADIR_ROUND_UNIT);
    value->J_error = nadir_round_up(primal < dual ? primal : dual, 16);
}

/* The error of J by v and d together, where that is less. */
static nadir_status narrow_error(nadir_context *context, const nadir_kernel *kernel,
                                 const nadir_policy *policy, const nadir_occupancy *occupancy,
                                 nadir_value *value)
{
    const double gamma = nadir_occupancy_gamma(occupancy);
    nadir_value_check check = {.lower = -INFINITY, .upper = INFINITY, .gap = nadir_occupancy_gap(occupancy)};
    NADIR_TRY(nadir_kernel_minimum(context, kernel, &check.minimum));
    NADIR_TRY(nadir_value_check_return(context, kernel, policy, gamma, value->v, value->d, &check));
    if (check.lower <= check.upper && isfinite(check.upper - check.lower)) {
        const double J = fmin(fmax(value->J, check.lower), check.upper);
        const double error = nadir_round_up(fmax(check.upper - J, J - check.lower), 4);
        value->J = error < value->J_error ? J : value->J;
        value->J_error = fmin(value->J_error, error);
    }
    return NADIR_OK;
}

nadir_status nadir_value_solve(nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                               nadir_occupancy *occupancy, nadir_value *value)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    const int64_t n = model->states;
    nadir_accuracy of_v;
    nadir_accuracy of_d;
    double *rewards = NULL;
    nadir_value made = {0};
    NADIR_NEW(context, rewards, n);
    NADIR_NEW(context, made.v, n);
    NADIR_NEW(context, made.d, n);
    nadir_kernel_rewards(context, kernel, policy, 1, rewards);
    NADIR_CHECK(nadir_occupancy_find_duration(context, occupancy, most_actions(context, model)));
    NADIR_CHECK(nadir_occupancy_solve(context, occupancy, 1, rewards, made.v, &of_v));
    NADIR_CHECK(nadir_occupancy_solve_transposed(context, occupancy, 1, model->initial, made.d, &of_d));
    bound_errors(context, model, occupancy, rewards, &of_v, &of_d, &made);
    if (!isfinite(made.J)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "the return is not finite: %g", made.J));
    }
    NADIR_CHECK(narrow_error(context, kernel, policy, occupancy, &made));
    *value = made;
    made = (nadir_value){0};
cleanup:
    nadir_release(context, rewards);
    nadir_value_clear(context, &made);
    return status;
}

void nadir_value_q(const nadir_context *context, const nadir_kernel *kernel, double gamma, const double *v,
                   double *q)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    nadir_kernel_multiply(context, kernel, v, q);
    for (int64_t row = 0; row < model->rows; row++) {
        q[row] = nadir_kernel_reward(kernel, row) + gamma * q[row];
    }
}

/* ------------------------------------------------------------------- passes over the rows */

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
        const double chosen = nadir_kernel_reward(job->kernel, best_row) + job->gamma * product;
        double best = chosen;
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const bool worse = job->known != NULL && job->known[row] + job->rise < chosen;
            if (row != job->choice[s] && !worse) {
                nadir_kernel_multiply_rows(job->kernel, &job->vector, row, row + 1, &product);
                const double q = nadir_kernel_reward(job->kernel, row) + job->gamma * product;
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
                sum += job->weight[row] * (nadir_kernel_reward(job->kernel, row) + job->gamma * product);
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

/* value(s) = sum over a of pi(a|s) q(s, a); `highest` is of value, too, and `changed` is 0. */
static void bellman_average(const nadir_context *context, const nadir_kernel *kernel, double gamma,
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

/* ---------------------------------------------- bounds on the value from the rows of the kernel alone */

double nadir_check_offset(double r, double gamma, double rho_low, double rho_high, double least)
{
    if (gamma == 1) {
        return r <= 0 ? 0 : least > 0 ? nadir_round_up(r / least, 4) : INFINITY;
    }
    const double gap = 1 - gamma * (r > 0 ? rho_high : rho_low);
    if (!(1 - gamma * rho_high > 4 * NADIR_ROUND_UNIT)) {
        return INFINITY;
    }
    /* gap is off by two roundings of numbers near one */
    return r > 0 ? nadir_round_up(r / (gap - 4 * NADIR_ROUND_UNIT), 4)
                 : r / (gap + 4 * NADIR_ROUND_UNIT) * (1 - 4 * NADIR_ROUND_UNIT);
}

/* The range of sum over a of pi(a|s), rounding included, and the largest number of actions. */
static void measure_policy(const nadir_context *context, const nadir_model *model,
                           const double *probabilities, double *low, double *high, int64_t *actions)
{
    *low = INFINITY;
    *high = 0;
    *actions = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += probabilities[first + i];
        }
        *low = fmin(*low, sum);
        *high = fmax(*high, sum);
        *actions = count > *actions ? count : *actions;
    }
    *low = nadir_allreduce_minimum(context, *low);
    *high = nadir_allreduce_maximum(context, *high);
    *actions = (int64_t)nadir_allreduce_maximum(context, (double)*actions);
    *low -= NADIR_ROUND_UNIT * (double)(*actions + 2) * *high;
    *high += NADIR_ROUND_UNIT * (double)(*actions + 2) * *high;
}

nadir_status nadir_value_terms_compute(nadir_context *context, const nadir_kernel *kernel,
                                       nadir_value_terms *terms)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    double mass = 0;
    for (int64_t s = 0; s < model->states; s++) {
        mass += model->initial[s];
    }
    terms->mass = nadir_allreduce_sum(context, mass);
    nadir_kernel_measure(context, kernel, &terms->size);
    terms->reward = nadir_landing_reward_size(context, model, terms->size.largest);
    return nadir_kernel_minimum(context, kernel, &terms->minimum);
}

nadir_status nadir_value_residual_compute(nadir_context *context, const nadir_kernel *kernel,
                                          const nadir_policy *policy, double gamma, const double *v,
                                          double *work, nadir_value_residual *seen)
{
    const nadir_model *model = nadir_kernel_model(kernel);
    nadir_bellman_pass pass;
    bellman_average(context, kernel, gamma, policy, v, work, &pass);
    if (!pass.finite) {
        return nadir_fail(context, NADIR_ERROR_NOT_CONVERGED, "the value of the policy is not finite");
    }
    seen->lowest = pass.lowest;
    seen->highest = pass.highest;
    seen->largest = nadir_global_largest(context, model->states, v);
    seen->mean = nadir_global_dot(context, model->states, model->initial, v, &seen->rounding);
    return NADIR_OK;
}

/* mu . (v + low) and mu . (v + high), outward. */
static void bound_return(const nadir_model *model, double mass, const nadir_value_residual *seen,
                         nadir_value_check *check)
{
    const double mass_error = mass * NADIR_ROUND_UNIT * (double)(nadir_model_total(model) + 4);
    const double low = check->low * (check->low < 0 ? mass + mass_error : mass - mass_error);
    const double high = check->high * (check->high > 0 ? mass + mass_error : mass - mass_error);
    const double slack =
        seen->rounding + 4 * NADIR_ROUND_UNIT * (fabs(seen->mean) + fmax(fabs(low), fabs(high)));
    check->lower = seen->mean + low - slack;
    check->upper = seen->mean + high + slack;
}

void nadir_value_bounds(const nadir_context *context, const nadir_model *model,
                        const nadir_value_terms *terms, const double *probabilities, double gamma,
                        const nadir_value_residual *seen, nadir_value_check *check)
{
    const nadir_kernel_size *size = &terms->size;
    double pi_low;
    double pi_high;
    int64_t actions;
    measure_policy(context, model, probabilities, &pi_low, &pi_high, &actions);
    const double rounding = nadir_bellman_rounding(size, gamma, actions, terms->reward, seen->largest);
    check->minimum = terms->minimum;
    check->residual = fmax(seen->highest, -seen->lowest) + rounding;
    if (check->minimum >= 0) {
        const double low = pi_low * size->sum_low;
        const double high = pi_high * size->sum_high;
        check->high = nadir_check_offset(seen->highest + rounding, gamma, low, high, check->gap);
        check->low = -nadir_check_offset(-(seen->lowest - rounding), gamma, low, high, check->gap);
    } else {
        check->high = nadir_check_offset(check->residual, gamma, 0, pi_high * size->largest, 0);
        check->low = -check->high;
    }
    bound_return(model, terms->mass, seen, check);
}

/* check->gap of a kernel. */
static nadir_status find_gap(nadir_context *context, const nadir_kernel *kernel, const nadir_policy *policy,
                             double gamma, double minimum, nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    nadir_occupancy *occupancy = NULL;
    check->gap = 0;
    if (gamma == 1 && minimum >= 0) {
        const int64_t actions = most_actions(context, nadir_kernel_model(kernel));
        NADIR_CHECK(nadir_occupancy_create(context, kernel, policy, 1, NULL, 0, &occupancy));
        NADIR_CHECK(nadir_occupancy_find_duration(context, occupancy, actions));
        check->gap = nadir_occupancy_gap(occupancy);
    }
cleanup:
    nadir_occupancy_free(context, occupancy);
    return status;
}

nadir_status nadir_value_check_rows(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const double *v,
                                    nadir_value_check *check)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    double *work = NULL;
    nadir_value_terms terms;
    nadir_value_residual seen = {0};
    NADIR_NEW(context, work, model->states);
    NADIR_CHECK(nadir_value_residual_compute(context, kernel, policy, gamma, v, work, &seen));
    NADIR_CHECK(nadir_value_terms_compute(context, kernel, &terms));
    NADIR_CHECK(find_gap(context, kernel, policy, gamma, terms.minimum, check));
    nadir_value_bounds(context, model, &terms, policy->probabilities, gamma, &seen, check);
cleanup:
    nadir_release(context, work);
    return status;
}
