/*
 * evaluate_valid.c: robust evaluation of the non-rectangular ball on the domains simplex and support: search,
 * proofs, and the check of the kernel.
 *
 * The free domain comes first where it can help: its worst kernel is found and proven at the cost of a few
 * solves. If that kernel lies in the domain it is the worst here too, since this set is a part of the free
 * one; if not, its return is still a lower bound.
 *
 * Radii are taken in rising order, each search starting from the results before (frank_wolfe.h). A path need
 * not lead to the worst kernel: now and then it is compared with a cold start. Where that finds a worse
 * kernel, smaller radii are searched again from there, as long as that makes a difference.
 */
#include "core/context.h"
#include "linalg/distributed.h"
#include "robust/evaluate.h"
#include "search/frank_wolfe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many radii are worth the set-up of a shared proof. */
#define KAPPA_PATH_RADII 4

/* A path is followed for so many radii before it is compared with a cold start. */
#define PATH_LENGTH 50
/* A search along the path that takes more steps than this has met a kink, and is compared at once. */
#define PATH_STEPS 3

/* A cold start of this tolerance is not continued if its value is this close to that of the warm start in
 * every state, as a share of the largest change of the nominal value. */
#define COLD_TOLERANCE 1e-2
#define COLD_DISTANCE  0.1

/* A radius with its place. */
typedef struct placed {
    double factor;
    int64_t place;
} placed;

static int by_factor(const void *left, const void *right)
{
    const placed *a = left;
    const placed *b = right;
    return a->factor != b->factor ? (a->factor > b->factor) - (a->factor < b->factor)
                                  : (a->place > b->place) - (a->place < b->place);
}

/* All radii, in rising order. */
typedef struct valid_runs {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    int64_t count;
    placed *order;           /* [count] */
    nadir_valid_run *runs;   /* [count] */
    nadir_evaluation *frees; /* [count] of the free domain */
    nadir_radius_path path;
    int64_t followed;             /* radii since the last cold start */
    nadir_kappa_path *kappa_path; /* NULL: not made, yet or ever */
} valid_runs;

/* Whether an attack is worse for the policy than another one by more than the tolerance. */
static bool is_worse(const nadir_valid_run *run, const nadir_candidate *candidate,
                     const nadir_candidate *than)
{
    const double rounding = 64 * DBL_EPSILON * (fabs(candidate->J) + fabs(run->problem->J));
    return candidate->J < than->J - run->settings->tolerance * fabs(run->problem->J - than->J) - rounding;
}

static void exchange(nadir_candidate *one, nadir_candidate *other)
{
    const nadir_candidate kept = *one;
    *one = *other;
    *other = kept;
}

static nadir_status search_cold(nadir_valid_run *run, double tolerance, nadir_candidate *candidate)
{
    return nadir_multistart_run(run->context, run->problem, run->beta, run->problem->warm_start.search,
                                fmax(tolerance, run->settings->tolerance), run->settings->iterations_limit,
                                candidate);
}

/* Warm start from the caller's v and d if given. check_cold_start restarts cold unless the result is
 * certified. */
static nadir_status search_first(valid_runs *all, nadir_valid_run *run, nadir_candidate *candidate)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = run->problem;
    if (problem->warm_start.v == NULL) {
        return search_cold(run, 0, candidate);
    }
    NADIR_CHECK(
        nadir_frank_wolfe_create(run->context, problem, problem->warm_start.search, &all->path.frank_wolfe));
    NADIR_CHECK(nadir_frank_wolfe_from(run->context, all->path.frank_wolfe, run->beta, problem->warm_start.v,
                                       problem->warm_start.d, run->settings->tolerance,
                                       run->settings->iterations_limit, candidate));
cleanup:
    return status;
}

/* Replaces the attack of runs[j], which is handed back in *attack, and proves bounds again. */
static nadir_status take_worse(valid_runs *all, int64_t j, nadir_candidate *candidate)
{
    nadir_evaluation *evaluation = all->runs[j].evaluation;
    exchange(candidate, &evaluation->candidate);
    return nadir_valid_certify(&all->runs[j], &all->frees[j]);
}

/* Searches smaller radii again, from the kernel of runs[from] moved into their balls, as long as that finds
 * worse kernels. */
static nadir_status backfill(valid_runs *all, int64_t from)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *start = NULL;
    nadir_candidate candidate = {0};
    for (int64_t j = from - 1; j >= 0; j--) {
        nadir_valid_run *run = &all->runs[j];
        const nadir_lagrangian worse = {.kernel = all->runs[j + 1].evaluation->candidate.kernel,
                                        .distance = all->runs[j + 1].beta};
        const double begun = nadir_clock_seconds();
        NADIR_CHECK(nadir_lagrangian_kernel_in_ball(all->context, all->problem, run->beta, &worse, &start));
        NADIR_CHECK(nadir_frank_wolfe_run(all->context, all->problem, run->beta, start,
                                          all->problem->warm_start.search, all->settings->tolerance,
                                          all->settings->iterations_limit, &candidate));
        run->evaluation->robust_time += nadir_clock_seconds() - begun;
        if (!is_worse(run, &candidate, &run->evaluation->candidate)) {
            break;
        }
        NADIR_CHECK(take_worse(all, j, &candidate));
        nadir_candidate_clear(all->context, &candidate);
        nadir_kernel_free(start);
        start = NULL;
    }
cleanup:
    nadir_candidate_clear(all->context, &candidate);
    nadir_kernel_free(start);
    return status;
}

/* Adds runs[j] to the path, after its proof, which may have made it more stationary. */
static nadir_status record(valid_runs *all, int64_t j)
{
    const nadir_candidate *candidate = &all->runs[j].evaluation->candidate;
    return nadir_radius_path_add(all->context, &all->path, all->runs[j].beta, candidate->v, candidate->d);
}

/* Frees the transposed copy of the nominal average on large models with iterative solves: searches have
 * operators of their own. */
static void drop_transpose(valid_runs *all)
{
    nadir_occupancy *occupancy = all->problem->occupancy;
    const bool large = nadir_model_total(all->problem->model) > NADIR_PROOF_STATES;
    if (large && nadir_occupancy_iterates(occupancy)) {
        nadir_average_forget_transpose(all->context, nadir_occupancy_average(occupancy));
    }
}

/* The worst kernel of runs[j]: along the path, from a cold start, or both. *path_jumped: the cold start is
 * worse. */
static nadir_status search(valid_runs *all, int64_t j, bool *path_jumped)
{
    nadir_status status = NADIR_OK;
    nadir_valid_run *run = &all->runs[j];
    nadir_candidate *candidate = &run->evaluation->candidate;
    nadir_candidate other = {0};
    const double begun = nadir_clock_seconds();
    *path_jumped = false;
    drop_transpose(all);
    if (all->path.count == 0) {
        NADIR_CHECK(search_first(all, run, candidate));
        NADIR_CHECK(nadir_radius_path_add(all->context, &all->path, 0, all->problem->v, all->problem->d));
    } else {
        NADIR_CHECK(nadir_radius_path_follow(all->context, &all->path, run->beta, run->settings->tolerance,
                                             run->settings->iterations_limit, candidate));
        all->followed++;
        if (all->followed == PATH_LENGTH || j == all->count - 1 || candidate->iterations > PATH_STEPS) {
            NADIR_CHECK(search_cold(run, 0, &other));
            *path_jumped = is_worse(run, &other, candidate);
            all->followed = 0;
        }
    }
    run->frank_wolfe = all->path.frank_wolfe;
    if (*path_jumped) {
        exchange(&other, candidate);
        run->frank_wolfe = NULL;
        nadir_radius_path_clear(all->context, &all->path);
    }
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
cleanup:
    nadir_candidate_clear(all->context, &other);
    return status;
}

/* Sets up the shared proof at the first radius that needs one, if enough radii are left. */
static nadir_status begin_kappa_path(valid_runs *all, int64_t j)
{
    nadir_status status = NADIR_OK;
    const bool asked = all->settings->certify == NADIR_CERTIFY_AUTO && all->problem->uncertainty->p == 2;
    const bool small = all->problem->model->exchange == NULL && all->problem->states <= NADIR_PROOF_STATES;
    if (all->kappa_path == NULL && asked && small && all->count - j >= KAPPA_PATH_RADII) {
        const double begun = nadir_clock_seconds();
        NADIR_CHECK(nadir_kappa_path_create(all->context, all->problem, all->runs[all->count - 1].beta,
                                            &all->kappa_path));
        all->runs[j].evaluation->certify_time += nadir_clock_seconds() - begun;
    }
    all->runs[j].kappa_path = all->kappa_path;
cleanup:
    return status;
}

/* Whether an unfinished search is on its way to the result of the other one. */
static bool leads_to(const nadir_valid_run *run, const nadir_candidate *candidate, const nadir_candidate *end)
{
    const nadir_problem *problem = run->problem;
    double moved = 0;
    double apart = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        moved = fmax(moved, fabs(end->v[s] - problem->v[s]));
        apart = fmax(apart, fabs(end->v[s] - candidate->v[s]));
    }
    moved = nadir_allreduce_maximum(run->context, moved);
    apart = nadir_allreduce_maximum(run->context, apart);
    return apart <= COLD_DISTANCE * moved && !is_worse(run, candidate, end);
}

/* Where the first result came from a warm start and is not certified, a cold start may find a worse
 * kernel. */
static nadir_status check_cold_start(valid_runs *all)
{
    nadir_status status = NADIR_OK;
    nadir_valid_run *run = &all->runs[0];
    nadir_candidate other = {0};
    if (all->problem->warm_start.v == NULL ||
        nadir_evaluation_is_close(run->problem, run->settings, run->evaluation)) {
        return NADIR_OK;
    }
    const double begun = nadir_clock_seconds();
    NADIR_CHECK(search_cold(run, COLD_TOLERANCE, &other));
    if (!leads_to(run, &other, &run->evaluation->candidate)) {
        nadir_candidate_clear(all->context, &other);
        other = (nadir_candidate){0};
        NADIR_CHECK(search_cold(run, 0, &other));
    }
    run->evaluation->robust_time += nadir_clock_seconds() - begun;
    if (is_worse(run, &other, &run->evaluation->candidate)) {
        run->frank_wolfe = NULL;
        NADIR_CHECK(take_worse(all, 0, &other));
        nadir_radius_path_clear(all->context, &all->path);
    }
cleanup:
    nadir_candidate_clear(all->context, &other);
    return status;
}

static nadir_status begin(valid_runs *all, const double *factors, nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    double *rising = NULL;
    NADIR_NEW(all->context, all->order, all->count);
    NADIR_NEW(all->context, all->runs, all->count);
    NADIR_NEW_ZERO(all->context, all->frees, all->count);
    NADIR_NEW(all->context, rising, all->count);
    for (int64_t i = 0; i < all->count; i++) {
        all->order[i] = (placed){factors[i], i};
    }
    qsort(all->order, (size_t)all->count, sizeof *all->order, by_factor);
    for (int64_t j = 0; j < all->count; j++) {
        rising[j] = all->order[j].factor;
        all->runs[j] = (nadir_valid_run){
            .context = all->context,
            .problem = all->problem,
            .settings = all->settings,
            .beta = rising[j] * all->problem->uncertainty->radius,
            .factor = rising[j],
            .evaluation = &evaluations[all->order[j].place],
        };
    }
    if (all->count == 1 && all->problem->warm_start.v != NULL) { /* the worst kernel is known, or nearly so */
        all->runs[0].free_is_postponed = true;
        all->frees[0].refused = true;
        goto cleanup;
    }
    NADIR_CHECK(
        nadir_valid_ask_free(all->context, all->problem, all->settings, all->count, rising, all->frees));
cleanup:
    nadir_release(all->context, rising);
    return status;
}

nadir_status nadir_valid_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, int64_t count, const double *factors,
                                  nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    valid_runs all = {.context = context,
                      .problem = problem,
                      .settings = settings,
                      .count = count,
                      .path = {.problem = problem, .warm_start = problem->warm_start.search}};
    if (settings->method != NULL && strcmp(settings->method, "auto") != 0) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "method %s is for the free domain; leave the method to auto here",
                          settings->method);
    }
    NADIR_CHECK(begin(&all, factors, evaluations));
    for (int64_t j = 0; j < count; j++) {
        bool done;
        bool path_jumped;
        NADIR_CHECK(nadir_progress(context, "worst kernels", (double)j / (double)count));
        if (j > 0) { /* kernels of many radii are not returned, and they are large */
            nadir_kernel_free(all.runs[j - 1].evaluation->candidate.kernel);
            all.runs[j - 1].evaluation->candidate.kernel = NULL;
        }
        NADIR_CHECK(nadir_valid_take_free(&all.runs[j], &all.frees[j], &done));
        if (!done) {
            NADIR_CHECK(search(&all, j, &path_jumped));
            NADIR_CHECK(begin_kappa_path(&all, j));
            NADIR_CHECK(nadir_valid_certify(&all.runs[j], &all.frees[j]));
            NADIR_CHECK(j == 0 ? check_cold_start(&all) : NADIR_OK);
            NADIR_CHECK(record(&all, j));
            NADIR_CHECK(path_jumped ? backfill(&all, j) : NADIR_OK);
        }
    }
cleanup:
    for (int64_t j = 0; all.frees != NULL && j < count; j++) {
        nadir_evaluation_clear(context, &all.frees[j]);
    }
    nadir_radius_path_clear(context, &all.path);
    nadir_kappa_path_free(context, all.kappa_path);
    nadir_release(context, all.order);
    nadir_release(context, all.runs);
    nadir_release(context, all.frees);
    return status;
}
