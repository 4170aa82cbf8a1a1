/*
 * returns.c: the returns of many policies of one model; see returns.h.
 *
 * All policies are looked at before the first is evaluated, so that one that is none costs no time. Small
 * models: threads share the policies, a run of them each, and every thread has operator, factors and vectors
 * of its own. Large ones: one policy after another, each on all threads, or on a device.
 */
#include "solve/returns.h"

#include "core/round.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "solve/solver.h"
#include "solve/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Policies of models up to this size are shared out whatever their number: BLAS makes little of a second
 * thread. Up to the second size, where there is one for every thread. */
#define SMALL_STATES  256
#define SHARED_STATES 1024

/* Matrices that a thread holds: average, factors, and work. */
#define MATRICES 3

/* ------------------------------------------------------------------------------------ policies as given */

/* What is known of the policies before any is evaluated. */
typedef struct survey {
    int64_t wrong;    /* the first that is no policy; INT64_MAX: none */
    bool exact;       /* none has to be normalised */
    int64_t repaired; /* states that are normalised by more than rounding */
    double off;       /* of the worst of them: |sum - 1|, */
    double sum;
    int64_t policy, state; /* and where, the first among equals */
} survey;

#define SURVEY_START ((survey){.wrong = INT64_MAX, .exact = true})

static void join(survey *all, const survey *part)
{
    const bool worse = part->off > all->off || (part->off == all->off && part->policy < all->policy);
    const int64_t repaired = all->repaired + part->repaired;
    const int64_t wrong = part->wrong < all->wrong ? part->wrong : all->wrong;
    const bool exact = all->exact && part->exact;
    if (worse) {
        *all = *part;
    }
    all->repaired = repaired;
    all->wrong = wrong;
    all->exact = exact;
}
#pragma omp declare reduction(join:survey : join(&omp_out, &omp_in)) initializer(omp_priv = SURVEY_START)

/* One policy, [rows]. */
static void look_at(const nadir_model *model, const double *probabilities, int64_t policy, survey *found)
{
    bool good = true;
    for (int64_t s = 0; s < model->states && good; s++) {
        const int64_t first = model->state_rows[s];
        const int64_t count = model->state_rows[s + 1] - first;
        for (int64_t i = 0; i < count; i++) {
            good = good && probabilities[first + i] >= 0;
        }
        const double sum = nadir_vector_sum(count, probabilities + first);
        const double off = fabs(sum - 1);
        good = good && off <= NADIR_SUM_TOLERANCE; /* what is not finite has no such sum */
        found->exact = found->exact && off <= NADIR_SUM_ROUNDING;
        found->repaired += off > NADIR_SUM_UNSAID;
        if (off > NADIR_SUM_UNSAID && off > found->off) {
            found->off = off;
            found->sum = sum;
            found->policy = policy;
            found->state = s;
        }
    }
    found->wrong = !good && policy < found->wrong ? policy : found->wrong;
}

/* The sentence about a policy that is none. */
static nadir_status refuse(nadir_context *context, const nadir_model *model, const double *probabilities,
                           int64_t policy)
{
    nadir_status status = NADIR_OK;
    nadir_sum_report report = {0};
    char name[32];
    double *copy = NULL;
    (void)snprintf(name, sizeof name, "policy %lld", (long long)policy);
    NADIR_NEW(context, copy, model->rows);
    memcpy(copy, probabilities + policy * model->rows, (size_t)model->rows * sizeof *copy);
    NADIR_CHECK(nadir_policy_settle(context, model, name, copy, &report));
cleanup:
    nadir_release(context, copy);
    return status;
}

static nadir_status look_at_all(nadir_context *context, nadir_returns_request *self)
{
    const nadir_model *model = self->model;
    const int threads = nadir_threads_for(context, self->count * model->rows);
    nadir_status stopped = NADIR_OK;
    survey found = SURVEY_START;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(join : found)
    for (int64_t i = 0; i < self->count; i++) {
        if (nadir_progress_team(context, "checking policies", -1, &stopped)) {
            look_at(model, self->probabilities + i * model->rows, i, &found);
        }
    }
    if (stopped != NADIR_OK) {
        return stopped;
    }
    if (found.wrong < self->count) {
        return refuse(context, model, self->probabilities, found.wrong);
    }
    if (found.repaired > 0) {
        char place[NADIR_LABEL_LENGTH];
        nadir_log(context, NADIR_LOG_WARNING,
                  "policies: %lld state%s normalised; the farthest from 1: policy %lld, %s, sum %.15g",
                  (long long)found.repaired, found.repaired == 1 ? " was" : "s were", (long long)found.policy,
                  nadir_model_label(model, found.state, -1, place), found.sum);
    }
    self->exact = found.exact;
    return NADIR_OK;
}

void nadir_returns_normalise(const nadir_model *model, const double *from, double *to)
{
    nadir_sum_report unsaid = {0};
    double sum;
    memcpy(to, from, (size_t)model->rows * sizeof *to);
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t first = model->state_rows[s];
        (void)nadir_normalise(model->state_rows[s + 1] - first, to + first, s, &unsaid, &sum);
    }
}

/* ------------------------------------------------------------------------------------------- one by one */

void nadir_returns_worker_clear(nadir_returns_worker *member)
{
    nadir_context *context = &member->context;
    if (context->memory == NULL) {
        return;
    }
    nadir_occupancy_free(context, member->occupancy);
    nadir_policy_free(member->policy);
    nadir_release(context, member->rewards);
    nadir_release(context, member->v);
    nadir_release(context, member->work);
}

nadir_status nadir_returns_worker_make(nadir_context *context, const nadir_returns_request *self,
                                       bool use_device, nadir_returns_worker *member)
{
    nadir_status status = NADIR_OK;
    const int64_t n = self->model->states;
    member->context = *context;
    if (!use_device) {
        member->context.threads = 1;
        member->context.device = NULL;
        member->context.progress = NULL;
        member->context.log = NULL;
    }
    NADIR_CHECK(nadir_policy_create_blank(context, self->model, &member->policy));
    NADIR_NEW(context, member->rewards, n);
    NADIR_NEW_ZERO(context, member->v, n);
    NADIR_NEW(context, member->work, n);
cleanup:
    return status;
}

double nadir_returns_record(const nadir_context *context, const nadir_returns_request *self,
                            const double *probabilities, const nadir_value_residual *seen, int64_t i)
{
    nadir_value_check check;
    nadir_value_bounds(context, self->model, &self->terms, probabilities, self->model->discount, seen,
                       &check);
    const double error = nadir_round_up(fmax(check.upper - seen->mean, seen->mean - check.lower), 4);
    self->returns[i] = seen->mean;
    if (self->errors != NULL) {
        self->errors[i] = error;
    }
    return error;
}

nadir_status nadir_returns_evaluate(const nadir_returns_request *self, nadir_returns_worker *member,
                                    int64_t i)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = &member->context;
    const nadir_model *model = self->model;
    const nadir_policy *policy = member->policy;
    nadir_value_residual seen = {0};
    nadir_returns_normalise(model, self->probabilities + i * model->rows, policy->probabilities);
    if (member->occupancy == NULL) {
        NADIR_CHECK(nadir_occupancy_create(context, self->kernel, policy, model->discount,
                                           self->settings->backend, self->settings->tolerance,
                                           &member->occupancy));
    } else {
        NADIR_CHECK(nadir_occupancy_update(context, member->occupancy, self->kernel, policy));
    }
    nadir_average_rewards(model, policy, member->rewards);
    if (nadir_occupancy_iterates(member->occupancy)) {
        NADIR_CHECK(nadir_occupancy_improve(context, member->occupancy, false, 1, member->rewards, 0,
                                            member->v, NULL));
    } else {
        NADIR_CHECK(nadir_occupancy_solve(context, member->occupancy, 1, member->rewards, member->v, NULL));
    }
    NADIR_CHECK(nadir_value_residual_compute(context, self->kernel, policy, model->discount, member->v,
                                             member->work, &seen));
    (void)nadir_returns_record(context, self, policy->probabilities, &seen, i);
cleanup:
    member->status = status;
    member->failed = i;
    return status;
}

nadir_status nadir_returns_fail(nadir_context *context, const nadir_returns_worker *member)
{
    const nadir_status status = member->status;
    const char *said = member->context.error;
    return status == NADIR_ERROR_ILL_POSED || status == NADIR_ERROR_NOT_CONVERGED
               ? nadir_fail(context, status, "policy %lld: %s", (long long)member->failed, said)
               : nadir_fail(context, status, "%s", said);
}

static nadir_status evaluate_in_turn(nadir_context *context, const nadir_returns_request *self)
{
    nadir_status status = NADIR_OK;
    nadir_returns_worker *member = NULL;
    NADIR_NEW_ZERO(context, member, 1);
    NADIR_CHECK(nadir_returns_worker_make(context, self, true, member));
    for (int64_t i = 0; i < self->count; i++) {
        NADIR_CHECK(nadir_progress(context, NADIR_RETURNS_TASK, (double)i / (double)self->count));
        if (nadir_returns_evaluate(self, member, i) != NADIR_OK) {
            status = nadir_returns_fail(context, member);
            goto cleanup;
        }
    }
cleanup:
    if (member != NULL) {
        nadir_returns_worker_clear(member);
    }
    nadir_release(context, member);
    return status;
}

/* ------------------------------------------------------------------------------------------ many threads */

/* Whether solves stay on the processor. */
static bool is_local(const nadir_context *context, const nadir_returns_request *self)
{
    const char *name = self->settings->backend;
    const bool automatic = name == NULL || strcmp(name, "auto") == 0;
    const nadir_backend *backend = automatic ? NULL : nadir_backend_find(name);
    return automatic ? context->device == NULL
                     : backend != NULL && !nadir_backend_has(backend, NADIR_BACKEND_DEVICE);
}

/* How many threads share the policies; 1: none. */
static int sharing_threads(const nadir_context *context, const nadir_returns_request *self)
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
static void evaluate_run(nadir_context *context, const nadir_returns_request *self, int64_t first,
                         int64_t end, nadir_returns_worker *member, nadir_status *stopped, int64_t *failed)
{
    for (int64_t i = first; i < end; i++) {
        const double share = (double)(i - first) / (double)(end - first);
        int64_t lowest;
#pragma omp atomic read
        lowest = *failed;
        if (i > lowest || !nadir_progress_team(context, NADIR_RETURNS_TASK, share, stopped)) {
            return;
        }
        if (nadir_returns_evaluate(self, member, i) != NADIR_OK) {
#pragma omp critical(nadir_returns_failure)
            if (i < *failed) {
#pragma omp atomic write
                *failed = i;
            }
            return;
        }
    }
}

static nadir_status evaluate_shared(nadir_context *context, const nadir_returns_request *self, int threads)
{
    nadir_status status = NADIR_OK;
    int64_t failed = INT64_MAX;
    nadir_returns_worker *members = NULL;
    NADIR_NEW_ZERO(context, members, threads);
    for (int k = 0; k < threads; k++) {
        NADIR_CHECK(nadir_returns_worker_make(context, self, false, &members[k]));
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int k = 0; k < threads; k++) {
        evaluate_run(context, self, self->count * k / threads, self->count * (k + 1) / threads, &members[k],
                     &status, &failed);
    }
    for (int k = 0; k < threads && status == NADIR_OK; k++) { /* runs rise from thread to thread */
        if (members[k].status != NADIR_OK) {
            status = nadir_returns_fail(context, &members[k]);
        }
    }
cleanup:
    for (int k = 0; members != NULL && k < threads; k++) {
        nadir_returns_worker_clear(&members[k]);
    }
    nadir_release(context, members);
    return status;
}

nadir_status nadir_returns(nadir_context *context, nadir_model *model, int64_t count,
                           const double *probabilities, const nadir_solver_settings *settings,
                           double *returns, double *errors)
{
    nadir_status status = NADIR_OK;
    nadir_solver_settings use;
    nadir_returns_request run = {.model = model,
                                 .settings = &use,
                                 .count = count,
                                 .probabilities = probabilities,
                                 .returns = returns,
                                 .errors = errors};
    NADIR_CHECK(nadir_solver_settings_take(context, settings, &use));
    NADIR_CHECK(nadir_model_check_one_process(context, model, "the returns of many policies"));
    NADIR_CHECK(nadir_value_check_model(context, model));
    if (count < 0 || count > INT64_MAX / (int64_t)sizeof(double) / model->rows) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "there are %lld policies; expected 0 to %lld",
                            (long long)count, (long long)(INT64_MAX / (int64_t)sizeof(double) / model->rows));
        goto cleanup;
    }
    if (count == 0) {
        goto cleanup;
    }
    NADIR_CHECK(look_at_all(context, &run));
    NADIR_CHECK(nadir_kernel_create(context, model, &run.kernel));
    nadir_value_terms_compute(context, run.kernel, &run.terms);
    const int threads = sharing_threads(context, &run);
    if (nadir_returns_are_on_device(context, &run)) {
        status = nadir_returns_on_device(context, &run);
    } else {
        status = threads > 1 ? evaluate_shared(context, &run, threads) : evaluate_in_turn(context, &run);
    }
cleanup:
    nadir_kernel_free(run.kernel);
    return status;
}
