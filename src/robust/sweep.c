/*
 * sweep.c: robust evaluation of many radii.
 *
 * Non-rectangular ball on the domains simplex and support: radii are taken in rising order, each search
 * starting from the results before (frank_wolfe.h). A path need not lead to the worst kernel: now and then it
 * is compared with a cold start. Radii that are not certified have further starts, as one radius alone has them,
 * and are searched again from the next larger one at the end. On small models those that are not certified are evaluated alone,
 * until that fails, too, for several in a row: what one radius proves, a sweep proves.
 *
 * Free domain: nadir_free_evaluate. Other sets, and radius 0: one evaluation for each radius.
 */
#include "core/context.h"
#include "robust/strategy.h"
#include "search/frank_wolfe.h"

#include <stdlib.h>

/* -------------------------------------------- non-rectangular ball on the domains simplex and support */

/* All radii, in rising order. */
typedef struct sweep {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    int64_t count;
    nadir_valid_run *runs; /* [count] */
    nadir_radius_path path;
    int64_t followed;             /* radii since the last cold start */
    nadir_kappa_path *kappa_path; /* NULL: not made, yet or ever */
    int64_t solves_left;          /* for boxes of occupancies */
    int64_t failures;             /* radii in a row that were not certified alone either */
} sweep;

static void finish(const nadir_problem *problem, double factor, nadir_evaluation *evaluation)
{
    evaluation->finished = true;
    if (problem->finished != NULL) {
        problem->finished(problem->finished_user, factor, evaluation);
    }
}

/* Searches radii that are not certified again, from the worst kernel of the next larger one. */
static nadir_status search_down(sweep *self)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = self->context;
    nadir_candidate candidate = {0};
    nadir_kernel *spare[2] = {NULL, NULL};
    for (int64_t j = self->count - 2; j >= 0; j--) {
        nadir_valid_run *run = &self->runs[j];
        const nadir_candidate *larger = &self->runs[j + 1].evaluation->candidate;
        if (larger->v == NULL || run->evaluation->candidate.v == NULL ||
            nadir_evaluation_is_close(self->problem, self->settings, run->evaluation)) {
            continue;
        }
        const double begun = nadir_clock_seconds();
        NADIR_CHECK(nadir_frank_wolfe_warm(context, self->problem, run->beta, larger->v, larger->d,
                                           self->settings->tolerance, self->settings->iterations_limit, spare,
                                           &candidate));
        run->evaluation->robust_time += nadir_clock_seconds() - begun;
        if (nadir_valid_is_worse(run, &candidate, &run->evaluation->candidate)) {
            run->evaluation->finished = false;
            run->frank_wolfe = NULL;
            NADIR_CHECK(nadir_valid_take_worse(run, &candidate));
            nadir_kernel_free(run->evaluation->candidate.kernel);
            run->evaluation->candidate.kernel = NULL;
            run->evaluation->finished = true;
        }
        nadir_candidate_clear(context, &candidate);
    }
cleanup:
    nadir_kernel_free(spare[0]);
    nadir_kernel_free(spare[1]);
    nadir_candidate_clear(context, &candidate);
    return status;
}

/* Along the path to runs[j], compared with a cold start now and then. */
static nadir_status follow_path(sweep *self, int64_t j)
{
    nadir_status status = NADIR_OK;
    nadir_valid_run *run = &self->runs[j];
    nadir_candidate *candidate = &run->evaluation->candidate;
    nadir_candidate cold = {0};
    NADIR_CHECK(nadir_radius_path_follow(self->context, &self->path, run->beta, self->settings->tolerance,
                                         self->settings->iterations_limit, candidate));
    run->frank_wolfe = self->path.frank_wolfe;
    self->followed++;
    if (self->followed == NADIR_PATH_LENGTH || j == self->count - 1 ||
        candidate->iterations > NADIR_PATH_STEPS) {
        NADIR_CHECK(nadir_valid_search_cold(run, &cold));
        self->followed = 0;
    }
    if (cold.kernel != NULL && nadir_valid_is_worse(run, &cold, candidate)) {
        const nadir_candidate before = *candidate;
        *candidate = cold;
        cold = before;
        run->frank_wolfe = NULL;
        nadir_radius_path_clear(self->context, &self->path);
    }
cleanup:
    nadir_candidate_clear(self->context, &cold);
    return status;
}

/* The worst kernel of runs[j]. */
static nadir_status search(sweep *self, int64_t j)
{
    nadir_valid_run *run = &self->runs[j];
    const double begun = nadir_clock_seconds();
    nadir_valid_drop_transpose(run);
    if (self->path.count == 0) {
        NADIR_TRY(nadir_valid_search_cold(run, &run->evaluation->candidate));
        NADIR_TRY(nadir_radius_path_add(self->context, &self->path, 0, self->problem->v, self->problem->d));
    } else {
        NADIR_TRY(follow_path(self, j));
    }
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
    return NADIR_OK;
}

/* Sets up the shared proof at the first radius that needs one, if enough radii are left. */
static nadir_status begin_kappa_path(sweep *self, int64_t j)
{
    const nadir_problem *problem = self->problem;
    const bool asked = self->settings->certify == NADIR_CERTIFY_AUTO && problem->uncertainty->p == 2;
    const bool small = problem->model->exchange == NULL && problem->states <= NADIR_PROOF_STATES;
    if (self->kappa_path == NULL && asked && small && self->count - j >= NADIR_KAPPA_PATH_RADII) {
        const double begun = nadir_clock_seconds();
        NADIR_TRY(nadir_kappa_path_create(self->context, problem, self->runs[self->count - 1].beta,
                                          &self->kappa_path));
        self->runs[j].evaluation->certify_time += nadir_clock_seconds() - begun;
    }
    self->runs[j].kappa_path = self->kappa_path;
    return NADIR_OK;
}

/* A radius that is not certified, as it is evaluated alone: the worse kernel of both, and the better bound. */
static nadir_status evaluate_alone(sweep *self, nadir_valid_run *run)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *evaluation = run->evaluation;
    const bool small =
        self->problem->model->exchange == NULL && self->problem->states <= NADIR_PROOF_STATES_AFTER;
    nadir_evaluation other = {0};
    if (!small || self->settings->certify != NADIR_CERTIFY_AUTO || self->failures >= NADIR_SWEEP_FAILURES ||
        nadir_evaluation_is_close(self->problem, self->settings, evaluation)) {
        return NADIR_OK;
    }
    NADIR_CHECK(
        nadir_evaluate_valid(self->context, self->problem, self->settings, run->factor, NULL, &other));
    const bool proven = nadir_evaluation_is_close(self->problem, self->settings, &other);
    if (proven || nadir_valid_is_worse(run, &other.candidate, &evaluation->candidate)) {
        const nadir_evaluation before = *evaluation;
        *evaluation = other;
        other = before;
        run->frank_wolfe = NULL;
        nadir_radius_path_clear(self->context, &self->path);
    }
    nadir_evaluation_take_bound(evaluation, other.lower, other.proof, other.bound);
    evaluation->robust_time += other.robust_time;
    evaluation->certify_time += other.certify_time;
    self->failures = proven ? 0 : self->failures + 1;
cleanup:
    nadir_evaluation_clear(self->context, &other);
    return status;
}

/* One radius: search and proofs. The path gets the candidate after its proof, which may have made it more
 * stationary. */
static nadir_status evaluate_next(sweep *self, int64_t j)
{
    nadir_valid_run *run = &self->runs[j];
    const nadir_candidate *candidate = &run->evaluation->candidate;
    bool done;
    NADIR_TRY(nadir_valid_take_free(run, &done));
    if (done) {
        return NADIR_OK;
    }
    NADIR_TRY(search(self, j));
    NADIR_TRY(begin_kappa_path(self, j));
    NADIR_TRY(nadir_valid_certify(run));
    NADIR_TRY(evaluate_alone(self, run));
    return nadir_radius_path_add(self->context, &self->path, run->beta, candidate->v, candidate->d);
}

static nadir_status sweep_valid(nadir_context *context, const nadir_problem *problem,
                                const nadir_robust_settings *settings, int64_t count, const double *factors,
                                nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    sweep self = {.context = context,
                  .problem = problem,
                  .settings = settings,
                  .count = count,
                  .path = {.problem = problem},
                  .solves_left = (int64_t)(NADIR_PROOF_MANY * nadir_proof_few(problem))};
    NADIR_CHECK(nadir_evaluate_check_method(context, settings));
    NADIR_NEW_ZERO(context, self.runs, count);
    for (int64_t j = 0; j < count; j++) {
        self.runs[j] = nadir_valid_run_make(context, problem, settings, factors[j], &evaluations[j]);
        self.runs[j].solves_left = &self.solves_left;
    }
    NADIR_CHECK(nadir_valid_ask_free(count, self.runs));
    for (int64_t j = 0; j < count; j++) {
        nadir_progress_whole(context, (double)j / (double)count);
        NADIR_CHECK(nadir_progress(context, "worst kernels", -1));
        if (j > 0) { /* kernels of many radii are not returned, and they are large */
            nadir_kernel_free(evaluations[j - 1].candidate.kernel);
            evaluations[j - 1].candidate.kernel = NULL;
        }
        NADIR_CHECK(evaluate_next(&self, j));
        finish(problem, factors[j], &evaluations[j]);
    }
    NADIR_CHECK(search_down(&self));
cleanup:
    for (int64_t j = 0; self.runs != NULL && j < count; j++) {
        nadir_valid_run_clear(&self.runs[j]);
    }
    nadir_radius_path_clear(context, &self.path);
    nadir_kappa_path_free(context, self.kappa_path);
    nadir_release(context, self.runs);
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static nadir_status evaluate_each(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_evaluation *evaluations)
{
    for (int64_t i = 0; i < count; i++) {
        nadir_radius_evaluator *evaluate = nadir_evaluator_for(problem->uncertainty, factors[i]);
        nadir_progress_whole(context, (double)i / (double)count);
        NADIR_TRY(nadir_progress(context, "worst kernels", -1));
        NADIR_TRY(evaluate(context, problem, settings, factors[i], NULL, &evaluations[i]));
        finish(problem, factors[i], &evaluations[i]);
    }
    return NADIR_OK;
}

/* How `count` radii of this set are evaluated: positive ones, in rising order. */
static nadir_evaluator *evaluator_of(const nadir_uncertainty *set, int64_t count)
{
    if (set->idle || count <= 1) {
        return evaluate_each;
    }
    return set->domain == NADIR_DOMAIN_FREE ? nadir_free_evaluate
           : set->set == NADIR_SET_NONRECT  ? sweep_valid
                                            : evaluate_each;
}

static int by_factor(const void *left, const void *right)
{
    const nadir_placed *a = left;
    const nadir_placed *b = right;
    return a->factor != b->factor ? (a->factor > b->factor) - (a->factor < b->factor)
                                  : (a->place > b->place) - (a->place < b->place);
}

void nadir_radii_sort(int64_t count, const double *factors, nadir_placed *placed)
{
    for (int64_t i = 0; i < count; i++) {
        placed[i] = (nadir_placed){factors[i], i};
    }
    qsort(placed, (size_t)count, sizeof *placed, by_factor);
}

nadir_status nadir_sweep(nadir_context *context, const nadir_problem *problem,
                         const nadir_robust_settings *settings, int64_t count, const double *factors,
                         nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    nadir_evaluation *rising = NULL;
    double *sorted = NULL;
    nadir_placed *order = NULL;
    int64_t zeros = 0; /* radius 0 is the nominal kernel alone, whatever the set */
    NADIR_NEW_ZERO(context, rising, count);
    NADIR_NEW(context, sorted, count);
    NADIR_NEW(context, order, count);
    nadir_radii_sort(count, factors, order);
    for (int64_t i = 0; i < count; i++) {
        sorted[i] = order[i].factor;
        zeros += sorted[i] == 0;
    }
    NADIR_CHECK(evaluate_each(context, problem, settings, zeros, sorted, rising));
    NADIR_CHECK(evaluator_of(problem->uncertainty, count - zeros)(context, problem, settings, count - zeros,
                                                                  sorted + zeros, rising + zeros));
cleanup:
    for (int64_t i = 0; i < count && (status == NADIR_OK || status == NADIR_ERROR_INTERRUPTED); i++) {
        evaluations[order[i].place] = rising[i]; /* interrupted: some are finished */
        rising[i] = (nadir_evaluation){0};
    }
    nadir_evaluations_clear(context, count, rising);
    nadir_release(context, rising);
    nadir_release(context, sorted);
    nadir_release(context, order);
    return status;
}
