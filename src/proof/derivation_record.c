/*
 * derivation_record.c: steps of a derivation written down, and taken again from what was written; see
 * derivation.h and derivation_record.h.
 *
 * What is read is believed in nothing: a step that the ones before do not allow ends it.
 */
#include "proof/derivation.h"

#include "sets/lmo_by_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { PASSES_MOST = 1000 }; /* around the nominal kernel */

static nadir_status append(nadir_context *context, nadir_certificate *certificate, int64_t count,
                           const double *numbers)
{
    nadir_status status = NADIR_OK;
    NADIR_RESERVE(context, certificate->steps, certificate->steps_count + count, certificate->steps_capacity);
    if (count > 0) {
        memcpy(certificate->steps + certificate->steps_count, numbers, (size_t)count * sizeof *numbers);
    }
    certificate->steps_count += count;
cleanup:
    return status;
}

nadir_status nadir_derivation_record(nadir_context *context, nadir_derivation *self, nadir_step step,
                                     int64_t count, const double *numbers)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(append(context, self->certificate, 1, (double[]){(double)step}));
    NADIR_CHECK(append(context, self->certificate, count, numbers));
cleanup:
    return status;
}

nadir_status nadir_derivation_record_vector(nadir_context *context, nadir_derivation *self,
                                            const double *vector)
{
    return append(context, self->certificate, self->problem->states, vector);
}

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

/* The answer of the rows to v with the penalty tau / high, as a kernel; see lmo_by_state.h. */
static nadir_status answer(nadir_context *context, nadir_derivation *self, double tau, const double *v,
                           nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_lmo_penalized lmo = {0};
    NADIR_CHECK(nadir_lmo_penalized_make(context, self->problem, self->beta, self->below.high, &lmo));
    NADIR_CHECK(nadir_lmo_penalized_solve(context, &lmo, tau, v));
    NADIR_CHECK(nadir_lmo_penalized_kernel(context, &lmo, tau, kernel));
cleanup:
    nadir_lmo_penalized_clear(context, &lmo);
    return status;
}

static nadir_status pass_around(reader *from, double tau, const double *v, const double *answered)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *kernel = NULL;
    NADIR_CHECK(answer(from->context, from->self, tau, answered, &kernel));
    NADIR_CHECK(nadir_derivation_pass_around(from->context, from->self, kernel, tau, v, answered));
cleanup:
    nadir_kernel_free(kernel);
    return status;
}

/* Whether a step can be taken now. */
static bool is_allowed(const nadir_derivation *self, int step)
{
    const nadir_uncertainty *set = self->problem->uncertainty;
    const double tau = self->candidate->tau;
    const bool two = set->p == 2 && tau > 0 && tau <= DBL_MAX;
    const bool whole = self->problem->model->exchange == NULL;
    switch (step) {
    case NADIR_STEP_SET_PASSES:
        return whole;
    case NADIR_STEP_LAGRANGIAN:
        return whole && pow(self->beta, set->p) > 0;
    case NADIR_STEP_BY_NORMS:
    case NADIR_STEP_LARGE:
        return two && self->up == NULL; /* which has rows that `large` gives back */
    case NADIR_STEP_EXPAND:
        return two && whole && self->up == NULL;
    case NADIR_STEP_TABULATE:
        return self->up != NULL;
    case NADIR_STEP_USE_WEIGHTS:
        return self->tabulated && self->begun && !self->weighted;
    case NADIR_STEP_BEGIN:
        return self->tabulated || self->up != NULL;
    case NADIR_STEP_MEASURE:
    case NADIR_STEP_LAGRANGIAN_BELOW:
    case NADIR_STEP_PASS_AROUND:
    case NADIR_STEP_CONCLUDE:
        return self->begun;
    case NADIR_STEP_PASS:
        return self->begun && self->measured && self->tabulated;
    case NADIR_STEP_MATRIX:
        return self->begun && self->measured;
    case NADIR_STEP_CONCLUDE_KAPPA:
        return self->begun && self->matrix.states > 0;
    default:
        return false;
    }
}

/* Steps of some numbers; false in *known: it is not one of them, or its numbers are wrong. */
static nadir_status take_numbers(reader *from, int step, bool *known)
{
    nadir_context *context = from->context;
    nadir_derivation *self = from->self;
    const bool open = self->perturbable.columns == NULL; /* all rows allow all states */
    const double *x = take(from, step == NADIR_STEP_CONCLUDE_KAPPA ? 3 : 1);
    *known = x != NULL;
    if (*known && step == NADIR_STEP_SET_PASSES && x[0] >= 0 && x[0] <= PASSES_MOST) {
        return nadir_derivation_set_passes(context, self, (int64_t)x[0], -1);
    }
    if (*known && step == NADIR_STEP_TABULATE && (x[0] == 0 || open)) {
        return nadir_derivation_tabulate(context, self, x[0] != 0);
    }
    if (*known && step == NADIR_STEP_MATRIX && (x[0] == 0 || open)) {
        return nadir_derivation_matrix(context, self, x[0] != 0);
    }
    if (*known && step == NADIR_STEP_CONCLUDE_KAPPA) {
        if (x[0] > 0) {
            (void)nadir_kappa_cholesky_holds(context, &self->matrix, x[0], x[1], x[2]);
        }
        return nadir_derivation_conclude_kappa(context, self);
    }
    *known = false;
    return NADIR_OK;
}

/* Steps of a multiplier and vectors, likewise. */
static nadir_status take_vectors(reader *from, int step, bool *known)
{
    nadir_context *context = from->context;
    nadir_derivation *self = from->self;
    const int64_t n = self->problem->states;
    const double *tau = take(from, 1);
    const double *v = take(from, n);
    const double *answered = step == NADIR_STEP_PASS_AROUND ? take(from, n) : v;
    *known = tau != NULL && v != NULL && answered != NULL && *tau >= 0 && *tau <= DBL_MAX;
    if (*known && step == NADIR_STEP_LAGRANGIAN) {
        return nadir_derivation_lagrangian(context, self, *tau, v);
    }
    if (*known && step == NADIR_STEP_LAGRANGIAN_BELOW) {
        return nadir_derivation_lagrangian_below(context, self, *tau, v);
    }
    if (*known && step == NADIR_STEP_PASS_AROUND && *tau > 0) {
        return pass_around(from, *tau, v, answered);
    }
    *known = false;
    return NADIR_OK;
}

static nadir_status take_step(reader *from, int step, bool *known)
{
    nadir_context *context = from->context;
    nadir_derivation *self = from->self;
    *known = is_allowed(self, step);
    switch (*known ? step : 0) {
    case NADIR_STEP_SET_PASSES:
    case NADIR_STEP_TABULATE:
    case NADIR_STEP_MATRIX:
    case NADIR_STEP_CONCLUDE_KAPPA:
        return take_numbers(from, step, known);
    case NADIR_STEP_LAGRANGIAN:
    case NADIR_STEP_LAGRANGIAN_BELOW:
    case NADIR_STEP_PASS_AROUND:
        return take_vectors(from, step, known);
    case NADIR_STEP_BY_NORMS:
        return nadir_derivation_by_norms(context, self);
    case NADIR_STEP_LARGE:
        return nadir_derivation_large(context, self);
    case NADIR_STEP_EXPAND:
        return nadir_derivation_expand(context, self);
    case NADIR_STEP_USE_WEIGHTS:
        return nadir_derivation_use_weights(context, self);
    case NADIR_STEP_BEGIN:
        return nadir_derivation_begin(context, self);
    case NADIR_STEP_MEASURE:
        return nadir_derivation_measure(context, self);
    case NADIR_STEP_PASS:
        return nadir_derivation_pass(context, self);
    case NADIR_STEP_CONCLUDE:
        return nadir_derivation_conclude(context, self);
    default:
        return NADIR_OK;
    }
}

nadir_status nadir_derivation_replay(nadir_context *context, nadir_derivation *self, int64_t count,
                                     const double *steps)
{
    nadir_status status = NADIR_OK;
    reader from = {.context = context, .self = self, .next = steps, .left = count};
    while (from.left > 0) {
        const double code = *take(&from, 1);
        const int64_t place = count - from.left - 1;
        bool known = false;
        NADIR_CHECK(nadir_progress(context, "steps of the proof", (double)place / (double)count));
        if (code >= NADIR_STEP_SET_PASSES && code <= NADIR_STEP_CONCLUDE_KAPPA) {
            NADIR_CHECK(take_step(&from, (int)code, &known));
        }
        if (!known) {
            return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                              "number %lld of the steps, %g, is no step of a proof here", (long long)place,
                              code);
        }
    }
cleanup:
    return status;
}
