/*
 * partition.c: successors numbered anew when the states are distributed over processes; see partition.h.
 *
 * Which states of other processes occur is kept as one bit for each of all states, with a count of the bits
 * before each word: the number of a ghost is then found without a search. A row whose successors rise stays
 * so: those below the own states move behind the own ones.
 */
#include "model/model.h"

enum { BITS = 64 };

void nadir_model_own_states(const nadir_context *context, int64_t total, int64_t *first, int64_t *end)
{
    const int64_t rank = context->communication->rank;
    const int64_t members = context->communication->members;
    *first = total / members * rank + (rank < total % members ? rank : total % members);
    *end = *first + total / members + (rank < total % members);
}

/* The states of others among the successors. */
typedef struct ghost_set {
    uint64_t *bits;  /* [words] */
    int64_t *before; /* [words] ghosts in the words before */
    int64_t words;
    int64_t count;
} ghost_set;

static nadir_status collect(nadir_context *context, const nadir_model *model, const char *path, int64_t first,
                            int64_t total, ghost_set *ghosts)
{
    const int64_t entries = model->row_starts[model->rows];
    for (int64_t i = 0; i < entries; i++) {
        const int64_t t = model->columns[i];
        if (t < 0 || t >= total) {
            int64_t row = 0;
            while (model->row_starts[row + 1] <= i) {
                row++;
            }
            const int64_t state = first + nadir_model_row_state(model, row);
            return nadir_fail(context, NADIR_ERROR_MODEL,
                              "%s: state %lld: successor %lld is not a state; states are 0 to %lld", path,
                              (long long)state, (long long)t, (long long)total - 1);
        }
        if (t < first || t >= first + model->states) {
            ghosts->bits[t / BITS] |= UINT64_C(1) << t % BITS;
        }
    }
    return NADIR_OK;
}

/* Every state of the others becomes a ghost when most are and processes can read each other's vectors: then
 * nothing has to be picked out and copied. Counts the set. */
static void settle(const nadir_context *context, int64_t first, int64_t end, int64_t total, ghost_set *ghosts)
{
    int64_t count = 0;
    for (int64_t word = 0; word < ghosts->words; word++) {
        count += __builtin_popcountll(ghosts->bits[word]);
    }
    const bool whole = context->communication->shares && count > (total - (end - first)) / 2;
    for (int64_t t = 0; whole && t < total; t++) {
        if (t < first || t >= end) {
            ghosts->bits[t / BITS] |= UINT64_C(1) << t % BITS;
        }
    }
    for (int64_t word = 0; word < ghosts->words; word++) {
        ghosts->before[word] = ghosts->count;
        ghosts->count += __builtin_popcountll(ghosts->bits[word]);
    }
}

/* How many ghosts stand before state t. */
static int64_t number_of(const ghost_set *ghosts, int64_t t)
{
    const uint64_t below = ghosts->bits[t / BITS] & ((UINT64_C(1) << t % BITS) - 1);
    return ghosts->before[t / BITS] + __builtin_popcountll(below);
}

static void list(const ghost_set *ghosts, int64_t *places)
{
    int64_t to = 0;
    for (int64_t word = 0; word < ghosts->words; word++) {
        for (uint64_t left = ghosts->bits[word]; left != 0; left &= left - 1) {
            places[to++] = word * BITS + __builtin_ctzll(left);
        }
    }
}

static void swap_entries(nadir_model *model, int64_t i, int64_t j)
{
    const int32_t column = model->columns[i];
    const double probability = model->probabilities[i];
    model->columns[i] = model->columns[j];
    model->columns[j] = column;
    model->probabilities[i] = model->probabilities[j];
    model->probabilities[j] = probability;
    if (model->transition_rewards != NULL) {
        const double reward = model->transition_rewards[i];
        model->transition_rewards[i] = model->transition_rewards[j];
        model->transition_rewards[j] = reward;
    }
}

static void reverse(nadir_model *model, int64_t start, int64_t end)
{
    for (; start < --end; start++) {
        swap_entries(model, start, end);
    }
}

/* Own successors, which follow those that stand below them, before these; then all are numbered anew. */
static void renumber_row(nadir_model *model, int64_t row, int64_t first, const ghost_set *ghosts)
{
    const int64_t start = model->row_starts[row];
    const int64_t end = model->row_starts[row + 1];
    int64_t own = start;
    while (own < end && model->columns[own] < first) {
        own++;
    }
    int64_t above = own;
    while (above < end && model->columns[above] >= first && model->columns[above] < first + model->states) {
        above++;
    }
    if (own > start && above > own) { /* two parts change places by three reversals */
        reverse(model, start, own);
        reverse(model, own, above);
        reverse(model, start, above);
    }
    for (int64_t i = start; i < end; i++) {
        const int64_t t = model->columns[i];
        const bool mine = t >= first && t < first + model->states;
        model->columns[i] = (int32_t)(mine ? t - first : model->states + number_of(ghosts, t));
    }
}

nadir_status nadir_model_distribute(nadir_context *context, nadir_model *model, const char *path,
                                    int64_t first, int64_t total)
{
    nadir_status status = NADIR_OK;
    ghost_set ghosts = {.words = total / BITS + 1};
    int64_t *places = NULL;
    if (model->dense != NULL) { /* rows of a part are always CSR */
        NADIR_CHECK(nadir_model_to_sparse(context, model, total));
    }
    NADIR_NEW_ZERO(context, ghosts.bits, ghosts.words);
    NADIR_NEW(context, ghosts.before, ghosts.words);
    NADIR_CHECK(collect(context, model, path, first, total, &ghosts));
    settle(context, first, first + model->states, total, &ghosts);
    if (model->states + ghosts.count > INT32_MAX) {
        status = nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                            "%s: %lld states and %lld successors of other processes; columns are numbered in "
                            "32 bits: take more processes",
                            path, (long long)model->states, (long long)ghosts.count);
        goto cleanup;
    }
    NADIR_NEW(context, places, ghosts.count);
    list(&ghosts, places);
    for (int64_t row = 0; row < model->rows; row++) {
        renumber_row(model, row, first, &ghosts);
    }
    NADIR_CHECK(nadir_exchange_create(context, first, model->states, ghosts.count, places, &model->exchange));
cleanup:
    nadir_release(context, ghosts.bits);
    nadir_release(context, ghosts.before);
    nadir_release(context, places);
    return status;
}
