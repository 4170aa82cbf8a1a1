/*
 * returns.c: the returns of many policies of one model.
 *
 * Each is J = mu . v, v about D R^pi from one solve; the pass R^pi + gamma P^pi v - v over the rows of the
 * kernel bounds its error, whoever solved (value.h).
 *
 * All policies are looked at before the first is evaluated, so that one that is none costs no time. Small
 * models: threads share the policies, a run of them each, and every thread has operator, factors and vectors
 * of its own. Large ones: one policy after another, each on all threads, or on a device.
 */
#include "core/round.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel_device.h"
#include "model/landing.h"
#include "model/terminal.h"
#include "solve/occupancy.h"
#include "solve/solver.h"
#include "solve/value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is asked, the same for all threads. */
typedef struct returns_request {
    nadir_model *model;
    nadir_kernel *kernel; /* nominal */
    const nadir_solver_settings *settings;
    const nadir_backend *backend; /* asked for; NULL: automatic */
    nadir_value_terms terms;
    int64_t count;
    const double *probabilities; /* [count * rows] distributions, as given */
    bool exact;                  /* none has to be normalised */
    double *returns;             /* [count] */
    double *errors;              /* [count] or NULL */
} returns_request;

/* Who evaluates policies one after another: a thread, or the only one. Zeros: nothing is there. */
typedef struct returns_worker {
    nadir_context context;
    nadir_policy *policy; /* the present one, normalised */
    nadir_occupancy *occupancy;
    double *rewards; /* [states] R^pi */
    double *v;       /* [states] of the last policy, from which iterations start */
    double *work;    /* [states] */
    nadir_status status;
    int64_t failed; /* the policy that it is about, unless that is NADIR_OK */
} returns_worker;

/* For nadir_progress. */
#define TASK "evaluating policies"

/* Policies of models up to this size are shared out whatever their number: BLAS makes little of a second
 * thread. Up to the second size, where there is one for every thread. */
#define SMALL_STATES  256
#define SHARED_STATES 1024

/* Matrices that a thread holds: average, factors, and work. */
#define MATRICES 3

/* ------------------------------------------------------------------------------------ policies as given */

/* Whether policy i needs no normalising. */
static bool is_exact(const returns_request *self, int64_t i)
{
    const int64_t *state_rows = self->model->state_rows;
    const double *probabilities = self->probabilities + i * self->model->rows;
    bool exact = true;
    for (int64_t row = 0; row < self->model->rows; row++) {
        exact = exact && probabilities[row] >= 0;
    }
    for (int64_t s = 0; s < self->model->states && exact; s++) {
        const double sum = nadir_vector_sum(state_rows[s + 1] - state_rows[s], probabilities + state_rows[s]);
        exact = fabs(sum - 1) <= NADIR_SUM_ROUNDING;
    }
    return exact;
}

/* to: [rows] <- policy i, checked and normalised as policies are. */
static nadir_status settle_policy(nadir_context *context, const returns_request *self, int64_t i, double *to,
                                  nadir_sum_report *report)
{
    const int64_t rows = self->model->rows;
    char name[32];
    (void)snprintf(name, sizeof name, "policy %lld", (long long)i);
    memcpy(to, self->probabilities + i * rows, (size_t)rows * sizeof *to);
    return nadir_policy_settle(context, self->model, name, to, report);
}

/* Refuses the first that is no policy, and tells how many states are normalised. work: [rows] */
static nadir_status settle_all(nadir_context *context, const returns_request *self, double *work)
{
    nadir_sum_report all = {.worst_sum = 1};
    int64_t policy = 0;
    char place[NADIR_LABEL_LENGTH];
    for (int64_t i = 0; i < self->count; i++) {
        nadir_sum_report report = {.worst_sum = 1};
        NADIR_TRY(nadir_progress(context, "checking policies", -1));
        NADIR_TRY(settle_policy(context, self, i, work, &report));
        if (report.repaired > 0 && fabs(report.worst_sum - 1) > fabs(all.worst_sum - 1)) {
            all.worst = report.worst;
            all.worst_sum = report.worst_sum;
            policy = i;
        }
        all.repaired += report.repaired;
    }
    if (all.repaired > 0) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "policies: %lld state%s normalised; the farthest from 1: policy %lld, %s, sum %.15g",
                  (long long)all.repaired, all.repaired == 1 ? " was" : "s were", (long long)policy,
                  nadir_model_label(self->model, all.worst, -1, place), all.worst_sum);
    }
    return NADIR_OK;
}

static nadir_status look_at_all(nadir_context *context, returns_request *self)
{
    nadir_status status = NADIR_OK;
    const int threads = nadir_threads_for(context, self->count * self->model->rows);
    double *work = NULL;
    bool exact = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : exact)
    for (int64_t i = 0; i < self->count; i++) {
        exact = exact && nadir_progress_team(context, "checking policies", -1, &status) && is_exact(self, i);
    }
    self->exact = exact;
    if (!exact && status == NADIR_OK) {
        NADIR_NEW(context, work, self->model->rows);
        NADIR_CHECK(settle_all(context, self, work));
    }
cleanup:
    nadir_release(context, work);
    return status;
}

/* ------------------------------------------------------------------------------------------- one by one */

static void worker_clear(returns_worker *worker)
{
    nadir_context *context = &worker->context;
    if (context->memory == NULL) {
        return;
    }
    nadir_occupancy_free(context, worker->occupancy);
    nadir_policy_free(worker->policy);
    NADIR_RELEASE(context, worker->rewards, worker->v, worker->work);
}

/* use_device: it uses the device of the context, if there is one, and all threads; otherwise one thread. */
static nadir_status worker_make(nadir_context *context, const returns_request *self, bool use_device,
                                returns_worker *worker)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->model->states;
    worker->context = *context;
    if (!use_device) {
        worker->context.threads = 1;
        worker->context.device = NULL;
        worker->context.progress = NULL;
        worker->context.log = NULL;
    }
    NADIR_CHECK(nadir_policy_create_blank(context, self->model, &worker->policy));
    NADIR_NEW(context, worker->rewards, n);
    NADIR_NEW_ZERO(context, worker->v, n);
    NADIR_NEW(context, worker->work, n);
cleanup:
    return status;
}

/* Return and error of policy i from what was seen of its value; probabilities: [rows] normalised. Returns the
 * error. */
static double record_return(const nadir_context *context, const returns_request *self,
                            const double *probabilities, const nadir_value_residual *seen, int64_t i)
{
    nadir_value_check check;
    nadir_value_bounds(context, self->model, &self->terms, probabilities, self->model->discount, seen,
                       &check);
    const double J = nadir_landing_return(self->model, seen->mean);
    const double error = nadir_round_up(fmax(nadir_landing_upper(self->model, check.upper) - J,
                                             J - nadir_landing_lower(self->model, check.lower)),
                                        4);
    self->returns[i] = J;
    if (self->errors != NULL) {
        self->errors[i] = error;
    }
    return error;
}

/* Policy i. A failure is kept in the worker, its sentence in the worker's context. */
static nadir_status evaluate_policy(const returns_request *self, returns_worker *worker, int64_t i)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = &worker->context;
    const nadir_model *model = self->model;
    const nadir_policy *policy = worker->policy;
    nadir_value_residual seen = {0};
    nadir_sum_report unsaid = {0};
    NADIR_CHECK(settle_policy(context, self, i, policy->probabilities, &unsaid));
    if (worker->occupancy == NULL) {
        NADIR_CHECK(nadir_occupancy_create(context, self->kernel, policy, model->discount,
                                           self->settings->backend, self->settings->tolerance,
                                           &worker->occupancy));
    } else {
        NADIR_CHECK(nadir_occupancy_update(context, worker->occupancy, self->kernel, policy));
    }
    nadir_average_rewards(model, policy, worker->rewards);
    if (nadir_occupancy_iterates(worker->occupancy)) {
        NADIR_CHECK(nadir_occupancy_improve(context, worker->occupancy, false, 1, worker->rewards, 0,
                                            worker->v, NULL));
    } else {
        NADIR_CHECK(nadir_occupancy_solve(context, worker->occupancy, 1, worker->rewards, worker->v, NULL));
    }
    NADIR_CHECK(nadir_value_residual_compute(context, self->kernel, policy, model->discount, worker->v,
                                             worker->work, &seen));
    (void)record_return(context, self, policy->probabilities, &seen, i);
cleanup:
    worker->status = status;
    worker->failed = i;
    return status;
}

/* Tells `context` of that failure, and returns it. */
static nadir_status report_failure(nadir_context *context, const returns_worker *worker)
{
    const nadir_status status = worker->status;
    const char *said = worker->context.error;
    return status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED
               ? nadir_fail(context, status, "policy %lld: %s", (long long)worker->failed, said)
               : nadir_fail(context, status, "%s", said);
}

/* ------------------------------------------------------------------------------------------ many threads */

/* Whether solves stay on the processor. */
static bool is_local(const nadir_context *context, const returns_request *self)
{
    return self->backend == NULL ? context->device == NULL
                                 : !nadir_backend_has(self->backend, NADIR_BACKEND_DEVICE);
}

/* How many threads share the policies; 1: none. */
static int sharing_threads(const nadir_context *context, const returns_request *self)
{
    const int64_t n = self->model->states;
    const double each = MATRICES * (double)(n * n) * (double)sizeof(double);
    const double left =
        (double)nadir_memory_limit(context->memory) - (double)nadir_memory_used(context->memory);
    int64_t threads = self->count < context->threads ? self->count : context->threads;
    if (!is_local(context, self) || n > SHARED_STATES || (n > SMALL_STATES && threads < context->threads) ||
        nadir_memory_is_hooked(context->memory)) {
        return 1;
    }
    while (threads > 1 && (double)threads * each > left / 2) {
        threads--;
    }
    return (int)threads;
}

/* The policies [first, end) of a thread, up to the first that fails, or until a lower one has failed: what is
 * told in the end is the first failure of all. *failed: the lowest so far. */
static void evaluate_run(nadir_context *context, const returns_request *self, int64_t first, int64_t end,
                         returns_worker *worker, nadir_status *stopped, int64_t *failed)
{
    for (int64_t i = first; i < end; i++) {
        const double share = (double)(i - first) / (double)(end - first);
        int64_t lowest;
#pragma omp atomic read
        lowest = *failed;
        if (i > lowest || !nadir_progress_team(context, TASK, share, stopped)) {
            return;
        }
        if (evaluate_policy(self, worker, i) != NADIR_OK) {
#pragma omp critical(nadir_returns_failure)
            if (i < *failed) {
#pragma omp atomic write
                *failed = i;
            }
            return;
        }
    }
}

/* One thread: it uses the device and all threads of the context. */
static nadir_status evaluate_all(nadir_context *context, const returns_request *self, int threads)
{
    nadir_status status = NADIR_OK;
    int64_t failed = INT64_MAX;
    returns_worker *workers = NULL;
    NADIR_NEW_ZERO(context, workers, threads);
    for (int k = 0; k < threads; k++) {
        NADIR_CHECK(worker_make(context, self, threads == 1, &workers[k]));
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int k = 0; k < threads; k++) {
        evaluate_run(context, self, self->count * k / threads, self->count * (k + 1) / threads, &workers[k],
                     &status, &failed);
    }
    for (int k = 0; k < threads && status == NADIR_OK; k++) { /* runs rise from thread to thread */
        if (workers[k].status != NADIR_OK) {
            status = report_failure(context, &workers[k]);
        }
    }
cleanup:
    for (int k = 0; workers != NULL && k < threads; k++) {
        worker_clear(&workers[k]);
    }
    nadir_release(context, workers);
    return status;
}

/*
 * Models of few states on the device of an engine.
 *
 * The device averages, factors and solves thousands of policies at a time, and looks at each v with the rows
 * of the kernel; bounds on the errors are made of that here. What is left in doubt, since a system is
 * next to singular or a number is not finite, is evaluated here.
 */

/* Larger models fill the device by themselves. */
#define STATES_LIMIT 512

/* Probabilities that go to the device with a call. */
#define NUMBERS_AT_ONCE ((int64_t)1 << 24)

/* Of the largest value: an error that leaves less than this to be known is looked into. */
#define DOUBTFUL 1e-6

/* Whether the device of the context evaluates these policies in batches. */
static bool use_batches(const nadir_context *context, const returns_request *self)
{
    const nadir_backend *backend = self->backend == NULL ? &nadir_backend_device_lu : self->backend;
    return context->device != NULL && self->model->states <= STATES_LIMIT &&
           nadir_backend_has(backend, NADIR_BACKEND_DEVICE) &&
           nadir_backend_has(backend, NADIR_BACKEND_DIRECT);
}

/* A run of policies while the device has it. */
typedef struct block {
    int64_t first, count;
    const double *probabilities; /* [count * rows] normalised */
    nadir_device_return *found;  /* [count] */
    double *normalised;          /* [count * rows], NULL: policies are as they are given */
    bool *doubtful;              /* [count] */
} block;

/* Normalises the policies of a block. */
static nadir_status load(nadir_context *context, const returns_request *own, block *self)
{
    const int64_t rows = own->model->rows;
    nadir_sum_report unsaid = {0};
    self->probabilities =
        self->normalised != NULL ? self->normalised : own->probabilities + self->first * rows;
    for (int64_t i = 0; i < self->count && self->normalised != NULL; i++) {
        NADIR_TRY(settle_policy(context, own, self->first + i, self->normalised + i * rows, &unsaid));
    }
    return NADIR_OK;
}

/* Returns and errors of a block. mu . v is a sum of S products in any order. */
static void conclude(const nadir_context *context, const returns_request *own, const block *self)
{
    const nadir_model *model = own->model;
    const double terms = (double)model->states + 4;
#pragma omp parallel for num_threads(nadir_threads_for(context, self->count * model->rows)) schedule(static)
    for (int64_t i = 0; i < self->count; i++) {
        const nadir_device_return *found = &self->found[i];
        const nadir_value_residual seen = {
            .lowest = found->lowest,
            .highest = found->highest,
            .largest = found->largest,
            .mean = found->mean,
            .rounding = terms * NADIR_ROUND_UNIT * own->terms.mass * found->largest +
                        (found->largest > 0 ? DBL_MIN : 0),
        };
        const double error =
            record_return(context, own, self->probabilities + i * model->rows, &seen, self->first + i);
        self->doubtful[i] = !(error <= DOUBTFUL * found->largest); /* also where a number is not finite */
    }
}

/* Those that are doubtful, here. */
static nadir_status settle(nadir_context *context, const returns_request *own, const block *self,
                           returns_worker *worker)
{
    for (int64_t i = self->first; i < self->first + self->count; i++) {
        if (!self->doubtful[i - self->first]) {
            continue;
        }
        NADIR_TRY(nadir_progress(context, TASK, (double)i / (double)own->count));
        if (evaluate_policy(own, worker, i) != NADIR_OK) {
            return report_failure(context, worker);
        }
    }
    return NADIR_OK;
}

static nadir_status evaluate_block(nadir_context *context, const returns_request *own, void *rows,
                                   block *self, returns_worker *worker)
{
    const nadir_model *model = own->model;
    const nadir_device_returns asked = {
        .gamma = model->discount, .rewards = model->shaped, .initial = model->initial};
    NADIR_TRY(load(context, own, self));
    NADIR_TRY(context->device->policy_returns(rows, context, &asked, self->count, self->probabilities,
                                              self->found));
    conclude(context, own, self);
    return settle(context, own, self, worker);
}

static nadir_status evaluate_batches(nadir_context *context, const returns_request *self)
{
    nadir_status status = NADIR_OK;
    const int64_t fit = NUMBERS_AT_ONCE / self->model->rows + 1;
    const int64_t most = self->count < fit ? self->count : fit;
    nadir_solver_settings here = *self->settings; /* what is done here is not for a backend of the device */
    returns_request asked = *self;
    returns_worker *worker = NULL;
    block run = {0};
    void *rows;
    here.backend = NULL;
    asked.settings = &here;
    NADIR_NEW_ZERO(context, worker, 1);
    NADIR_CHECK(worker_make(context, self, false, worker));
    NADIR_NEW(context, run.found, most);
    NADIR_NEW(context, run.doubtful, most);
    if (!self->exact) {
        NADIR_NEW(context, run.normalised, most * self->model->rows);
    }
    NADIR_CHECK(nadir_kernel_device_rows(context, self->model, &rows));
    for (int64_t first = 0; first < self->count; first += most) {
        NADIR_CHECK(nadir_progress(context, TASK, (double)first / (double)self->count));
        run.first = first;
        run.count = self->count - first < most ? self->count - first : most;
        NADIR_CHECK(evaluate_block(context, &asked, rows, &run, worker));
    }
cleanup:
    if (worker != NULL) {
        worker_clear(worker);
    }
    NADIR_RELEASE(context, worker, run.found, run.doubtful, run.normalised);
    return status;
}

nadir_status nadir_returns(nadir_context *context, nadir_model *model, int64_t count,
                           const double *probabilities, const nadir_solver_settings *settings,
                           double *returns, double *errors)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings use;
    returns_request run = {.model = model,
                           .settings = &use,
                           .count = count,
                           .probabilities = probabilities,
                           .returns = returns,
                           .errors = errors};
    NADIR_CHECK(nadir_solver_settings_take(context, settings, &use));
    NADIR_CHECK(nadir_model_check_one_process(context, model, "the returns of many policies"));
    NADIR_CHECK(nadir_value_check_model(context, model));
    NADIR_CHECK(nadir_terminal_refuse(context, model, "the returns of many policies"));
    if (count < 0 || count > INT64_MAX / (int64_t)sizeof(double) / model->rows) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_ARGUMENT, "there are %lld policies; expected 0 to %lld",
                               (long long)count,
                               (long long)(INT64_MAX / (int64_t)sizeof(double) / model->rows)));
    }
    if (count == 0) {
        goto cleanup;
    }
    NADIR_CHECK(look_at_all(context, &run));
    NADIR_CHECK(nadir_kernel_create(context, model, &run.kernel));
    NADIR_CHECK(nadir_value_terms_compute(context, run.kernel, &run.terms));
    NADIR_CHECK(nadir_backend_named(context, use.backend, &run.backend));
    const int threads = sharing_threads(context, &run);
    if (use_batches(context, &run)) {
        status = evaluate_batches(context, &run);
    } else {
        status = evaluate_all(context, &run, threads);
    }
cleanup:
    nadir_kernel_free(run.kernel);
    return status;
}
