/* sweep.c: many L_2 balls on the free domain: from the coefficients of their worst kernels to verdicts; see
 * sweep.h. */
#include "adversary/free/sweep.h"

#include "adversary/check/check_combined.h"
#include "base/context.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* From so many radii on what they share is most of the work. */
enum { LEAST = 6 };

typedef struct sweep {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    int64_t count;
    nadir_verdict *verdicts;
    nadir_sweep_point *points; /* [count] */
    int64_t checked, settled;
    int64_t *which;                 /* [count] of those that are checked, later of those that are settled */
    double *radii;                  /* [count] of those that are checked */
    nadir_combined_answer *answers; /* [count] likewise */
    double *S;                      /* [NADIR_SWEEP_SIZE * count] coefficients of c, one after another */
    double *T;                      /* [(NADIR_SWEEP_SIZE + 1) * count] of k */
    double *minima;                 /* [count] */
} sweep;

/* The coefficients of a point: x = X s, y = K t, K = (v_hat, Z). */
static void read_point(const nadir_spectral_subspace_point *at, int size, double *s, double *t)
{
    memcpy(s, at->s, (size_t)size * sizeof *s);
    t[0] = at->along;
    for (int j = 0; j < size; j++) {
        t[1 + j] = -at->l / at->theta * at->s[j];
    }
}

static void fill_verdict(const sweep *at, const nadir_sweep_point *point, const nadir_combined_answer *answer,
                         nadir_verdict *verdict)
{
    const nadir_problem *problem = at->problem;
    const bool bounded = !isinf(answer->lambda_high);
    const double J = problem->J - answer->lambda;
    *verdict = (nadir_verdict){
        .attack = {.J = J,
                   .method = "newton",
                   .stop_reason = "tolerance",
                   .converged = true,
                   .iterations = point->rounds,
                   .lambda = answer->lambda},
        .lower = bounded ? nadir_free_lower(problem, answer->lambda_high) : -INFINITY,
        .upper = problem->J + problem->J_error - answer->lambda_low +
                 2 * DBL_EPSILON * (fabs(problem->J) + answer->lambda_low),
        .proof = bounded ? NADIR_PROOF_RIGOROUS : NADIR_PROOF_NONE,
        .bound = bounded ? "spectral" : "none",
        .kappa = NAN,
    };
}

/* Checks the points that are done: their coefficients go to S and T, one after another. */
static nadir_status check_points(sweep *at, const nadir_combined *of)
{
    const int m = of->size;
    for (int64_t i = 0; i < at->count; i++) {
        const nadir_sweep_point *point = &at->points[i];
        if (point->done) {
            read_point(&point->at, m, at->S + at->checked * m, at->T + at->checked * (m + 1));
            at->radii[at->checked] = point->beta;
            at->which[at->checked++] = i;
        }
    }
    return at->checked == 0
               ? NADIR_OK
               : nadir_combined_check(at->context, of, at->checked, at->radii, at->S, at->T, at->answers);
}

/* Settles what can be: the coefficients of those close ranks, times the radius in S. */
static void settle(sweep *at, const nadir_combined *of)
{
    const int m = of->size;
    const bool bounds = at->settings->certify != NADIR_CERTIFY_OFF; /* without one a radius goes alone */
    for (int64_t j = 0; j < at->checked; j++) {
        const nadir_combined_answer *answer = &at->answers[j];
        const double wanted = answer->lambda * (1 + 0.5 * at->settings->width);
        const int64_t i = at->which[j];
        if (!answer->usable || (bounds && !(of->bounded && answer->lambda_high <= wanted))) {
            continue;
        }
        fill_verdict(at, &at->points[i], answer, &at->verdicts[i]);
        for (int k = 0; k < m; k++) {
            at->S[at->settled * m + k] = at->S[j * m + k] * at->radii[j];
        }
        memmove(at->T + at->settled * (m + 1), at->T + j * (m + 1), (size_t)(m + 1) * sizeof *at->T);
        at->which[at->settled++] = i;
    }
}

/* The vectors of the subspace one after another, and guesses of products where solves are iterations. */
typedef struct gathered {
    double *X;                               /* [states * m] */
    double *K;                               /* [states * (m + 1)] */
    double *g;                               /* [states * m] D W X up to constants; NULL: not wanted */
    const double *DWX[NADIR_SWEEP_SIZE];     /* into that */
    const double *DtK[NADIR_SWEEP_SIZE + 1]; /* where they are known */
} gathered;

static void clear_gathered(nadir_context *context, gathered *made)
{
    nadir_release(context, made->X);
    nadir_release(context, made->K);
    nadir_release(context, made->g);
}

static nadir_status gather(nadir_context *context, const nadir_spectral_subspace *subspace,
                           double *const *images, bool guess, gathered *made)
{
    nadir_status status = NADIR_OK;
    const int64_t n = subspace->problem->states;
    const int m = subspace->size;
    NADIR_NEW(context, made->X, n * m);
    NADIR_NEW(context, made->K, n * (m + 1));
    if (guess) {
        NADIR_NEW(context, made->g, n * m);
    }
    memcpy(made->K, subspace->v_hat, (size_t)n * sizeof *made->K);
    for (int j = 0; j < m; j++) {
        memcpy(made->X + j * n, subspace->x[j], (size_t)n * sizeof *made->X);
        memcpy(made->K + (j + 1) * n, subspace->z[j], (size_t)n * sizeof *made->K);
        for (int64_t s = 0; s < n && guess; s++) {
            made->g[j * n + s] = subspace->z[j][s] + subspace->h[j] * subspace->v_hat[s];
        }
        made->DWX[j] = guess ? made->g + j * n : NULL;
    }
    for (int j = 0; j <= m; j++) {
        made->DtK[j] = images[j];
    }
cleanup:
    return status;
}

/* Bounds and smallest entries of all that the search has found on its subspace. */
static nadir_status prove(sweep *at, const nadir_spectral_subspace *subspace, double *const *images,
                          double breakdown_low)
{
    nadir_status status = NADIR_OK;
    const bool guess = nadir_occupancy_iterates(at->problem->occupancy);
    gathered vectors = {0};
    nadir_combined of = {0};
    NADIR_CHECK(gather(at->context, subspace, images, guess, &vectors));
    const nadir_combined_basis basis = {.size = subspace->size,
                                        .X = vectors.X,
                                        .K = vectors.K,
                                        .DWX = guess ? vectors.DWX : NULL,
                                        .DtK = guess ? vectors.DtK : NULL};
    NADIR_CHECK(nadir_combined_make(at->context, at->problem, at->settings->certify != NADIR_CERTIFY_OFF,
                                    &basis, breakdown_low, &of));
    NADIR_CHECK(check_points(at, &of));
    settle(at, &of);
    if (at->settled > 0) {
        NADIR_CHECK(nadir_combined_minima(at->context, &of, at->settled, at->S, at->T, at->minima));
    }
    for (int64_t j = 0; j < at->settled; j++) {
        at->verdicts[at->which[j]].minimum = at->minima[j];
    }
cleanup:
    clear_gathered(at->context, &vectors);
    nadir_combined_clear(at->context, &of);
    return status;
}

static nadir_status make_room(sweep *at)
{
    nadir_status status = NADIR_OK;
    NADIR_NEW(at->context, at->points, at->count);
    NADIR_NEW(at->context, at->which, at->count);
    NADIR_NEW(at->context, at->S, NADIR_SWEEP_SIZE * at->count);
    NADIR_NEW(at->context, at->T, (NADIR_SWEEP_SIZE + 1) * at->count);
    NADIR_NEW(at->context, at->minima, at->count);
    NADIR_NEW(at->context, at->radii, at->count);
    NADIR_NEW(at->context, at->answers, at->count);
cleanup:
    return status;
}

static void clear(sweep *at)
{
    nadir_release(at->context, at->points);
    nadir_release(at->context, at->which);
    nadir_release(at->context, at->S);
    nadir_release(at->context, at->T);
    nadir_release(at->context, at->minima);
    nadir_release(at->context, at->radii);
    nadir_release(at->context, at->answers);
}

bool nadir_sweep_pays(const nadir_context *context, const nadir_problem *problem,
                      const nadir_robust_settings *settings, int64_t count)
{
    return count >= LEAST && settings->certify != NADIR_CERTIFY_STRICT &&
           context->communication->members == 1 && problem->model->exchange == NULL;
}

nadir_status nadir_sweep_evaluate(nadir_context *context, const nadir_problem *problem,
                                  const nadir_robust_settings *settings, double breakdown_low, int64_t count,
                                  const double *radii, nadir_verdict *verdicts, nadir_sweep_result *result)
{
    nadir_status status = NADIR_OK;
    sweep at = {
        .context = context, .problem = problem, .settings = settings, .count = count, .verdicts = verdicts};
    nadir_spectral run = {.context = context,
                          .problem = problem,
                          .tolerance = nadir_spectral_tolerance(settings->tolerance),
                          .iterations_limit = settings->iterations_limit};
    double *images[NADIR_SWEEP_SIZE + 1] = {NULL};
    *result = (nadir_sweep_result){.found = nadir_clock_seconds()};
    NADIR_CHECK(make_room(&at));
    NADIR_CHECK(nadir_spectral_subspace_create(context, problem, &run.subspace));
    if (run.subspace->idle) {
        goto cleanup;
    }
    for (int64_t i = 0; i < count; i++) {
        at.points[i].beta = radii[i];
    }
    NADIR_CHECK(nadir_sweep_search(&run, count, at.points,
                                   nadir_occupancy_iterates(problem->occupancy) ? images : NULL));
    result->found = nadir_clock_seconds();
    NADIR_CHECK(prove(&at, run.subspace, images, breakdown_low));
    result->settled = at.settled;
cleanup:
    for (int j = 0; j <= NADIR_SWEEP_SIZE; j++) {
        nadir_release(context, images[j]);
    }
    nadir_spectral_subspace_free(context, run.subspace);
    clear(&at);
    return status;
}
