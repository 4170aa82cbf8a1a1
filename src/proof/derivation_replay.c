/*
 * derivation_replay.c: the steps of a derivation taken again from what was written; see derivation.h.
 *
 * What is read is believed in nothing: a step that the ones before do not allow ends it.
 */
#include "proof/derivation.h"

#include <float.h>
#include <math.h>

enum { PASSES_MOST = 1000 }; /* around the nominal kernel */

/* A record that is being read. */
typedef struct reader {
    nadir_context *context;
    nadir_derivation *self;
    const double *next;
    int64_t left;
} reader;

/* The next `count` numbers; NULL: there are not as many. */
static const double *take(reader *from, int64_t count)
{
    const double *taken = from->next;
    if (from->left < count) {
        return NULL;
    }
    from->next += count;
    from->left -= count;
    return taken;
}

/* Around the kernel that is the answer of the rows to `answered` with the penalty tau / high. */
static nadir_status pass_around(nadir_context *context, nadir_derivation *self, double tau, const double *v,
                                const double *answered)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    NADIR_CHECK(nadir_derivation_answer(context, self->problem, self->beta, self->below.high, tau, answered,
                                        &kernel));
    NADIR_CHECK(nadir_derivation_pass_around(context, self, kernel, tau, v, answered));
cleanup:
    nadir_kernel_free(kernel);
    return status;
}

/* Whether v and d, [2 states], are numbers, and d an occupancy. */
static bool is_point(int64_t n, const double *point)
{
    bool good = true;
    for (int64_t i = 0; i < 2 * n; i++) {
        good = good && isfinite(point[i]) && (i < n || point[i] >= 0);
    }
    return good;
}

/* Whether a step can be taken now. */
static bool is_allowed(const nadir_derivation *self, int step)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    const double tau = self->candidate->tau;
    const bool two = set->p == 2 && tau > 0 && tau <= DBL_MAX;
    const bool whole = self->problem->model->exchange == NULL;
    const bool has_star = self->begun && self->has_kkt;
    const bool charges = whole && isfinite(set->p) && pow(self->beta, set->p) > 0; /* p of bellman_bound.h */
    switch (step) {
    case NADIR_STEP_SET_PASSES:
        return whole;
    case NADIR_STEP_LAGRANGIAN:
        return charges;
    case NADIR_STEP_BY_NORMS:
    case NADIR_STEP_LARGE:
        return two && self->up == NULL; /* which has rows that `large` gives back */
    case NADIR_STEP_EXPAND:
        return two && whole && self->up == NULL;
    case NADIR_STEP_TABULATE:
        return self->up != NULL;
    case NADIR_STEP_USE_WEIGHTS:
        return self->tabulated && has_star && !self->weighted;
    case NADIR_STEP_BEGIN:
        return self->tabulated || self->up != NULL;
    case NADIR_STEP_MEASURE:
    case NADIR_STEP_PASS_AROUND:
        return has_star;
    case NADIR_STEP_LAGRANGIAN_BELOW:
    case NADIR_STEP_NARROW:
    case NADIR_STEP_SPLIT:
    case NADIR_STEP_DIVIDE:
        return self->begun && charges;
    case NADIR_STEP_CONCLUDE:
    case NADIR_STEP_BOX:
        return self->begun;
    case NADIR_STEP_PASS:
        return has_star && self->measured && self->tabulated;
    case NADIR_STEP_MATRIX:
        return has_star && self->measured;
    case NADIR_STEP_CONCLUDE_KAPPA:
    case NADIR_STEP_CONCLUDE_TANGENT:
        return has_star && self->matrix.states > 0;
    case NADIR_STEP_LEVEL:
    case NADIR_STEP_FORGET:
        return whole && !self->split;
    case NADIR_STEP_NEXT:
        return self->split;
    case NADIR_STEP_POINT:
        return self->certificate->point == NULL;
    case NADIR_STEP_ENCLOSE: /* once: p = 2 then */
        return set->p != 2 && whole && !self->split && self->certificate->point == NULL;
    default:
        return false;
    }
}

/* How many numbers and vectors a step comes with. */
static const struct {
    int64_t numbers, vectors;
} step_sizes[] = {
    [NADIR_STEP_SET_PASSES] = {1, 0},
    [NADIR_STEP_LAGRANGIAN] = {1, 1},
    [NADIR_STEP_TABULATE] = {1, 0},
    [NADIR_STEP_BEGIN] = {1, 0},
    [NADIR_STEP_LAGRANGIAN_BELOW] = {1, 1},
    [NADIR_STEP_PASS_AROUND] = {1, 2},
    [NADIR_STEP_MATRIX] = {2, 0},
    [NADIR_STEP_CONCLUDE_KAPPA] = {3, 0},
    [NADIR_STEP_POINT] = {0, 2},
    [NADIR_STEP_CONCLUDE_TANGENT] = {4, 0},
    [NADIR_STEP_LEVEL] = {1, 0},
    [NADIR_STEP_NARROW] = {5, 2},
    [NADIR_STEP_SPLIT] = {2, 0},
    [NADIR_STEP_NEXT] = {0, 0},
    [NADIR_STEP_ENCLOSE] = {1, 2},
    [NADIR_STEP_FORGET] = {0, 0},
    [NADIR_STEP_BOX] = {0, 2},
    [NADIR_STEP_DIVIDE] = {2, 0},
};

/* Whether box `below` can be split there, and the boxes to come are no more numbers than a record may have. */
static bool is_inside(const nadir_derivation *self, int step, int64_t s, double at)
{
    const int64_t size = 4 * self->problem->states + 1;
    const bool inside = step == NADIR_STEP_DIVIDE ? at > 0 && at <= DBL_MAX
                                                  : at > self->below.low[s] && at < self->below.high[s];
    return inside && self->open_count < NADIR_STEPS_MOST / size;
}

/* Whether x may be the first number of a step. */
static bool is_number_of(const nadir_derivation *self, int step, double x)
{
    const bool open = self->perturbable.columns == NULL; /* all rows allow all states */
    switch (step) {
    case NADIR_STEP_SET_PASSES:
        return x >= 0 && x <= PASSES_MOST;
    case NADIR_STEP_TABULATE:
    case NADIR_STEP_MATRIX:
        return x == 0 || open;
    case NADIR_STEP_LAGRANGIAN:
    case NADIR_STEP_LAGRANGIAN_BELOW:
        return x >= 0 && x <= DBL_MAX;
    case NADIR_STEP_PASS_AROUND:
    case NADIR_STEP_ENCLOSE:
        return x > 0 && x <= DBL_MAX;
    case NADIR_STEP_NARROW:
    case NADIR_STEP_SPLIT:
    case NADIR_STEP_DIVIDE:
        return x >= 0 && x < (double)self->problem->states;
    case NADIR_STEP_LEVEL:
        return isfinite(x);
    default:
        return true;
    }
}

/* *known: false where it is no step, or none that can be taken now, or its numbers are wrong. */
static nadir_status take_step(reader *from, int step, bool *known)
{
    nadir_context *context = from->context;
    nadir_derivation *self = from->self;
    const int64_t n = self->problem->states;
    *known = is_allowed(self, step);
    if (!*known) {
        return NADIR_OK;
    }
    const double *x = take(from, step_sizes[step].numbers);
    const double *v = take(from, step_sizes[step].vectors * n);
    *known = x != NULL && v != NULL && (step_sizes[step].numbers == 0 || is_number_of(self, step, x[0]));
    switch (*known ? step : 0) {
    case NADIR_STEP_SET_PASSES:
        return nadir_derivation_set_passes(context, self, (int64_t)x[0], -1);
    case NADIR_STEP_LAGRANGIAN:
        return nadir_derivation_lagrangian(context, self, x[0], v);
    case NADIR_STEP_BY_NORMS:
        return nadir_derivation_by_norms(context, self);
    case NADIR_STEP_LARGE:
        return nadir_derivation_large(context, self);
    case NADIR_STEP_EXPAND:
        return nadir_derivation_expand(context, self);
    case NADIR_STEP_TABULATE:
        return nadir_derivation_tabulate(context, self, x[0] != 0);
    case NADIR_STEP_USE_WEIGHTS:
        return nadir_derivation_use_weights(context, self);
    case NADIR_STEP_BEGIN:
        return nadir_derivation_begin(context, self, x[0]);
    case NADIR_STEP_MEASURE:
        return nadir_derivation_measure(context, self);
    case NADIR_STEP_PASS:
        return nadir_derivation_pass(context, self);
    case NADIR_STEP_LAGRANGIAN_BELOW:
        return nadir_derivation_lagrangian_below(context, self, x[0], v);
    case NADIR_STEP_PASS_AROUND:
        return pass_around(context, self, x[0], v, v + n);
    case NADIR_STEP_CONCLUDE:
        return nadir_derivation_conclude(context, self);
    case NADIR_STEP_MATRIX:
        return nadir_derivation_matrix(context, self, x[0] != 0, x[1]);
    case NADIR_STEP_CONCLUDE_KAPPA:
    case NADIR_STEP_CONCLUDE_TANGENT:
        if (x[0] > 0) {
            const double radial = step == NADIR_STEP_CONCLUDE_TANGENT ? x[3] : 0;
            (void)nadir_kappa_cholesky_holds(context, &self->matrix, x[0], radial, x[1], x[2]);
        }
        return nadir_derivation_conclude_kappa(context, self);
    case NADIR_STEP_POINT:
        *known = is_point(n, v);
        return *known ? nadir_derivation_set_point(context, self, v) : NADIR_OK;
    case NADIR_STEP_LEVEL:
        return nadir_derivation_set_level(context, self, x[0]);
    case NADIR_STEP_NARROW:
        return nadir_derivation_narrow(
            context, self,
            &(nadir_two_sided){
                .t = (int64_t)x[0], .theta = x[1], .zeta = x[2], .tau = x[3], .k = v, .v = v + n},
            x[4]);
    case NADIR_STEP_SPLIT:
    case NADIR_STEP_DIVIDE:
        *known = is_inside(self, step, (int64_t)x[0], x[1]);
        return !*known                    ? NADIR_OK
               : step == NADIR_STEP_SPLIT ? nadir_derivation_split(context, self, (int64_t)x[0], x[1])
                                          : nadir_derivation_divide(context, self, (int64_t)x[0], x[1]);
    case NADIR_STEP_NEXT:
        return nadir_derivation_next(context, self);
    case NADIR_STEP_FORGET:
        return nadir_derivation_forget(context, self);
    case NADIR_STEP_BOX:
        *known = is_point(n, v);
        return *known ? nadir_derivation_box(context, self, v) : NADIR_OK;
    case NADIR_STEP_ENCLOSE:
        *known = is_point(n, v);
        return *known ? nadir_derivation_enclose(context, self, x[0], v, v + n) : NADIR_OK;
    default:
        return NADIR_OK;
    }
}

nadir_status nadir_derivation_replay(nadir_context *context, nadir_derivation *self, int64_t count,
                                     const double *steps)
{
    reader from = {.context = context, .self = self, .next = steps, .left = count};
    while (from.left > 0) {
        const double code = *take(&from, 1);
        const int64_t place = count - from.left - 1;
        bool known = false;
        NADIR_TRY(nadir_progress(context, "steps of the proof", (double)place / (double)count));
        if (code >= NADIR_STEP_SET_PASSES && code <= NADIR_STEP_DIVIDE) {
            NADIR_TRY(take_step(&from, (int)code, &known));
        }
        if (!known) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "number %lld of the steps, %g, is no step of a proof here", (long long)place,
                              code);
        }
    }
    return NADIR_OK;
}
