/* checkpoint.c: the identity of a search, its progress, and the checkpoints of an ascent; see checkpoint.h
 * and ascent.h. */
#include "policy/ascent.h"

#include "core/context.h"
#include "core/file.h"
#include "linalg/distributed.h"
#include "linalg/vector.h"
#include "model/landing.h"

#include <math.h>
#include <string.h>

/* A hash of one number of a model, its kind (a letter), row and column. */
static uint64_t hash_entry(uint64_t kind, int64_t row, int64_t column, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t words[] = {kind, (uint64_t)row, (uint64_t)column, bits};
    uint64_t mixed = 0;
    for (int i = 0; i < 4; i++) { /* splitmix64 */
        mixed += words[i] + UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        mixed ^= mixed >> 31;
    }
    return mixed;
}

/* The sum over processes modulo 2^64, in pieces whose sums are exact. */
static uint64_t allreduce_hash(const nadir_context *context, uint64_t own)
{
    uint64_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16) {
        sum += (uint64_t)nadir_allreduce_sum(context, (double)(own >> shift & 0xffff)) << shift;
    }
    return sum;
}

/* A sum of hashes of all entries of model and ball, the same for every distribution over processes. */
static uint64_t hash_entries(const nadir_context *context, const nadir_model *model,
                             const nadir_uncertainty *set)
{
    const int64_t first = nadir_model_first(model);
    const int64_t first_row = nadir_global_first(context, model->rows);
    uint64_t own = 0;
    for (int64_t s = 0; s < model->states; s++) {
        own += hash_entry('m', first + s, 0, model->initial[s]);
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            const int64_t global_row = first_row + row;
            for (int64_t i = 0; i < entries.count; i++) {
                const int64_t column = nadir_exchange_index(model->exchange, nadir_row_column(&entries, i));
                own += hash_entry('P', global_row, column, entries.values[i]);
                if (set->weights != NULL) {
                    own += hash_entry('w', global_row, column,
                                      set->weights[nadir_landing_entry(model, row) + i]);
                }
                if (entries.rewards != NULL && !isnan(entries.rewards[i])) {
                    own += hash_entry('r', global_row, column, entries.rewards[i]);
                }
            }
            own += hash_entry('R', global_row, first + s, model->rewards[row]);
            own += hash_entry('a', global_row, 0, nadir_uncertainty_scale(set, row));
            own += hash_entry('b', global_row, 0, nadir_uncertainty_radius(set, s, row));
        }
    }
    if (model->transition_rewards != NULL && first_row == 0) {
        nadir_unseen unseen;
        double value;
        (void)nadir_model_rewards(model, &unseen, &value);
        own += hash_entry('u', (int64_t)unseen, 0, isnan(value) ? 0 : value);
    }
    return allreduce_hash(context, own);
}

void nadir_search_identify(nadir_search *search, const nadir_model *model, const nadir_uncertainty *set,
                           int64_t method)
{
    const nadir_context *context = search->context;
    const uint64_t entries = hash_entries(context, model, set);
    const int64_t sizes[] = {nadir_model_total(model), nadir_global_count(context, model->rows),
                             (int64_t)set->set, (int64_t)set->asked_domain, method};
    const double numbers[] = {model->discount, nadir_uncertainty_norm(set), set->radius};
    unsigned char digest[NADIR_SHA256_BYTES];
    nadir_sha256 sha;
    nadir_sha256_start(&sha);
    nadir_sha256_update(&sha, &entries, sizeof entries);
    nadir_sha256_update(&sha, sizes, sizeof sizes);
    nadir_sha256_update(&sha, numbers, sizeof numbers);
    nadir_sha256_finish(&sha, digest);
    nadir_sha256_hex(digest, search->identity);
}

bool nadir_checkpoint_is_count(int64_t number)
{
    return number >= 0 && number < INT64_C(1) << 53;
}

bool nadir_checkpoint_are_finite(int64_t count, const double *numbers)
{
    return isfinite(nadir_vector_largest(count, numbers));
}

nadir_status nadir_checkpoint_refuse(const nadir_search *search)
{
    return nadir_fail(search->context, NADIR_ERROR_FORMAT,
                      "%s: the checkpoint holds numbers that no search has; begin without it",
                      search->store.name);
}

nadir_status nadir_search_save(nadir_search *search, const nadir_checkpoint *checkpoint, bool now)
{
    const double seconds = now ? 0 : search->settings->checkpoint_seconds;
    if (search->store.write == NULL ||
        nadir_allreduce_maximum(search->context, nadir_clock_seconds() - search->saved) < seconds) {
        return NADIR_OK;
    }
    const nadir_status status = search->store.write(search->store.user, search->context, checkpoint);
    search->saved = nadir_clock_seconds();
    return status;
}

nadir_status nadir_search_report(nadir_search *search, const nadir_checkpoint *checkpoint, int64_t iteration,
                                 int64_t evaluations, double J, double gap, nadir_stop *stop)
{
    const nadir_robust_optimum_settings *settings = search->settings;
    /* the same on all processes, whose decisions must agree */
    const double seconds = nadir_allreduce_maximum(search->context, nadir_clock_seconds() - search->begun);
    const nadir_robust_optimum_step step = {
        .size = sizeof step,
        .iteration = iteration,
        .evaluations = evaluations,
        .robust_return = J,
        .gap = gap / fmax(fabs(search->nominal_optimum), fabs(J)),
        .seconds = seconds,
    };
    NADIR_TRY(nadir_search_save(search, checkpoint, false));
    if (settings->watch != NULL && settings->watch(settings->watch_user, &step) != 0) {
        return nadir_fail(search->context, NADIR_ERROR_INTERRUPTED, "interrupted");
    }
    if (evaluations >= settings->evaluations_limit) {
        *stop = NADIR_STOP_EVALUATIONS;
    } else if (seconds >= settings->time_limit) {
        *stop = NADIR_STOP_TIME;
    }
    return NADIR_OK;
}

/* ------------------------------------------------------------------------- checkpoints of an ascent */

/* policy, best: [rows] the current and the best policy. */
static nadir_checkpoint list_parts(nadir_ascent *ascent, double *policy, double *best)
{
    const size_t states = (size_t)ascent->minmax.model->states * sizeof(double);
    const size_t rows = (size_t)ascent->minmax.model->rows * sizeof(double);
    nadir_checkpoint made = {.identity = ascent->search.identity,
                             .pairs = ascent->lbfgs.count,
                             .pairs_most = ascent->lbfgs.most,
                             .fixed = 5,
                             .parts = {{&ascent->state, sizeof ascent->state},
                                       {policy, rows},
                                       {ascent->warm_v, states},
                                       {ascent->warm_d, states},
                                       {best, rows}}};
    for (int i = 0; i < ascent->lbfgs.most; i++) {
        made.parts[made.fixed + 2 * i] = (nadir_checkpoint_part){ascent->lbfgs.s[i], rows};
        made.parts[made.fixed + 2 * i + 1] = (nadir_checkpoint_part){ascent->lbfgs.y[i], rows};
    }
    return made;
}

nadir_checkpoint nadir_ascent_checkpoint(nadir_ascent *ascent)
{
    return list_parts(ascent, ascent->current->policy->probabilities, ascent->best->probabilities);
}

/* Whether a search can produce these numbers. Policies are checked when they are made. */
static bool is_plausible(const nadir_ascent *ascent)
{
    const nadir_ascent_state *state = &ascent->state;
    const int64_t states = ascent->minmax.model->states;
    const int64_t rows = ascent->minmax.model->rows;
    const double numbers[] = {state->alpha,           state->initial, state->best,
                              state->first_advantage, state->least,   state->risen};
    bool good = nadir_checkpoint_is_count(state->iterations) &&
                nadir_checkpoint_is_count(state->evaluations) && nadir_checkpoint_is_count(state->idle) &&
                state->alpha >= 0 && state->tolerance > 0 && !isnan(state->dual_advantage) &&
                !isinf(state->best_nominal) && /* NaN after an inexact response */
                nadir_checkpoint_are_finite(sizeof numbers / sizeof *numbers, numbers) &&
                nadir_checkpoint_are_finite(NADIR_ASCENT_HISTORY, state->history) &&
                nadir_checkpoint_are_finite(states, ascent->warm_v) &&
                nadir_checkpoint_are_finite(states, ascent->warm_d);
    for (int i = 0; i < ascent->lbfgs.count && good; i++) {
        good = nadir_checkpoint_are_finite(rows, ascent->lbfgs.s[i]) &&
               nadir_checkpoint_are_finite(rows, ascent->lbfgs.y[i]);
    }
    return good;
}

/* Fills state, warm_v, warm_d, best, L-BFGS pairs and the current policy. */
static nadir_status restore(nadir_ascent *ascent, nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_context *context = ascent->context;
    const nadir_model *model = ascent->minmax.model;
    double *read = NULL;
    NADIR_NEW(context, read, 2 * model->rows);
    NADIR_CHECK(nadir_lbfgs_reserve(context, &ascent->lbfgs, ascent->lbfgs.most));
    nadir_checkpoint checkpoint = list_parts(ascent, read, read + model->rows);
    NADIR_CHECK(ascent->search.store.read(ascent->search.store.user, context, &checkpoint));
    ascent->lbfgs.count = (int)checkpoint.pairs;
    NADIR_CHECK(is_plausible(ascent) ? NADIR_OK : nadir_checkpoint_refuse(&ascent->search));
    NADIR_CHECK(nadir_policy_create(context, model, read, policy));
    NADIR_CHECK(nadir_policy_create(context, model, read + model->rows, &ascent->best));
cleanup:
    nadir_release(context, read);
    return status;
}

nadir_status nadir_ascent_respond(nadir_ascent *self, nadir_policy *start, nadir_response *response)
{
    nadir_policy *uniform = NULL;
    nadir_status status = nadir_response_find(self->context, &self->minmax, start, NULL, NULL,
                                              NADIR_ASCENT_FIRST_TOLERANCE, response);
    if (status == NADIR_ERROR_ILL_POSED && self->search.settings->start == NULL) {
        NADIR_CHECK(nadir_policy_create_uniform(self->context, self->minmax.model, &uniform));
        NADIR_CHECK(nadir_response_find(self->context, &self->minmax, uniform, NULL, NULL,
                                        NADIR_ASCENT_FIRST_TOLERANCE, response));
    }
cleanup:
    nadir_policy_free(uniform);
    return status;
}

nadir_status nadir_ascent_resume(nadir_ascent *self, nadir_policy *start)
{
    nadir_status status = NADIR_OK;
    nadir_policy *policy = NULL;
    NADIR_CHECK(restore(self, &policy));
    const bool inexact = isinf(self->state.tolerance);
    if (inexact) { /* the first response prepares inexact ones */
        NADIR_CHECK(nadir_ascent_respond(self, start, self->next));
        NADIR_CHECK(nadir_response_allows_inexact(self->next) ? NADIR_OK
                                                              : nadir_checkpoint_refuse(&self->search));
        NADIR_CHECK(nadir_minmax_prepare(self->context, &self->minmax, self->next));
        nadir_response_recycle(self->context, &self->minmax, self->next);
    }
    self->minmax.evaluations = self->state.evaluations - 1;
    NADIR_CHECK(inexact ? nadir_response_find_inexact(self->context, &self->minmax, policy, self->warm_v,
                                                      self->warm_d, self->current)
                        : nadir_response_find(self->context, &self->minmax, policy,
                                              self->state.warm_started != 0 ? self->warm_v : NULL,
                                              self->warm_d, self->state.tolerance, self->current));
cleanup:
    nadir_policy_free(policy);
    return status;
}
