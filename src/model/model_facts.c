/* model_facts.c: what can be said of a model before anything is solved: sizes, ranges, reach. */
#include "core/file.h"
#include "linalg/distributed.h"
#include "model/model.h"
#include "model/policy.h"
#include "model/terminal.h"

#include <endian.h>
#include <math.h>
#include <string.h>

bool nadir_model_is_absorbing(const nadir_model *model, int64_t state)
{
    for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; i < entries.count; i++) {
            if (entries.values[i] > 0 && nadir_row_column(&entries, i) != state) {
                return false;
            }
        }
    }
    return true;
}

/* Breadth-first from the support of mu through every transition of positive probability. */
static nadir_status count_unreachable(nadir_context *context, const nadir_model *model, int64_t *unreachable)
{
    nadir_status status = NADIR_OK;
    bool *seen = NULL;
    int32_t *queue = NULL;
    int64_t head = 0;
    int64_t tail = 0;
    NADIR_NEW_ZERO(context, seen, model->states);
    NADIR_NEW(context, queue, model->states);
    for (int64_t s = 0; s < model->states; s++) {
        if (model->initial[s] > 0) {
            seen[s] = true;
            queue[tail++] = (int32_t)s;
        }
    }
    while (head < tail && tail < model->states) {
        const int64_t s = queue[head++];
        for (int64_t row = model->state_rows[s]; row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            for (int64_t i = 0; i < entries.count; i++) {
                const int64_t next = nadir_row_column(&entries, i);
                if (entries.values[i] > 0 && !seen[next]) {
                    seen[next] = true;
                    queue[tail++] = (int32_t)next;
                }
            }
        }
    }
    *unreachable = model->states - tail;
cleanup:
    NADIR_RELEASE(context, seen, queue);
    return status;
}

static int64_t model_bytes(const nadir_model *model)
{
    const int64_t entries = model->dense != NULL ? model->rows * model->states : model->nonzeros;
    int64_t bytes = (model->states + 1) * 8 + model->states * 8 + entries * 8;
    bytes += model->dense == NULL ? (model->rows + 1) * 8 + entries * 4 : 0;
    bytes += model->rewards != NULL ? model->rows * 8 : 0;
    bytes += model->scales != NULL ? model->rows * 8 : 0;
    bytes += model->row_actions != NULL ? model->rows * 4 : 0;
    bytes += model->transition_rewards != NULL ? entries * 8 : 0;
    bytes += model->landing.base != NULL ? (2 * model->rows + model->states) * 8 : 0; /* base, shaped, g */
    return bytes;
}

void nadir_model_reward_range(const nadir_model *model, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        for (int64_t i = 0; entries.rewards != NULL && i < entries.count; i++) {
            *low = entries.rewards[i] < *low ? entries.rewards[i] : *low; /* not NaN */
            *high = entries.rewards[i] > *high ? entries.rewards[i] : *high;
        }
        if (entries.rewards == NULL) {
            *low = fmin(*low, model->rewards[row]);
            *high = fmax(*high, model->rewards[row]);
        }
    }
}

void nadir_model_facts_fill(nadir_model_facts *facts, size_t size)
{
    nadir_model_facts made = {0};
    nadir_settings_give(facts, size, &made, sizeof made);
}

nadir_status nadir_model_facts_compute(nadir_context *context, const nadir_model *model,
                                       nadir_model_facts *facts)
{
    const size_t size = facts->size;
    nadir_model_facts found = {
        .size = size,
        .states = model->states,
        .rows = model->rows,
        .nonzeros = model->nonzeros,
        .actions_min = INT64_MAX,
        .density = (double)model->nonzeros / ((double)model->rows * (double)model->states),
        .reward_min = NAN,
        .reward_max = NAN,
        .discount = model->discount,
        .bytes = model_bytes(model),
    };
    found.reward_kind = nadir_model_rewards(model, &found.unseen, &found.unseen_value);
    if (size < sizeof size || size > sizeof found) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the model facts is not set");
    }
    NADIR_TRY(nadir_model_check_one_process(context, model, "facts of a model"));
    NADIR_TRY(nadir_model_valid_radius(context, model, 2, &found.valid_radius));
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        found.actions_min = actions < found.actions_min ? actions : found.actions_min;
        found.actions_max = actions > found.actions_max ? actions : found.actions_max;
        found.terminal_states += nadir_model_ends(model, s) || nadir_model_is_end(model, s);
        found.absorbing_states += nadir_model_is_absorbing(model, s);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        found.pinned_rows += nadir_model_is_pinned(model, row);
    }
    if (model->rewards != NULL) {
        nadir_model_reward_range(model, &found.reward_min, &found.reward_max);
    }
    NADIR_TRY(count_unreachable(context, model, &found.unreachable_states));
    nadir_settings_give(facts, facts->size, &found, sizeof found);
    return NADIR_OK;
}

/*
 * SHA-256 of what a model or a policy says, whichever way it is stored.
 *
 * Hashed, in this order, integers and doubles as 8 bytes little-endian, -0 as 0: a tag; states, rows; for
 * each state the number of its rows and mu; for each row its number of nonzeros, their successors and
 * probabilities, its reward, its scale; the discount. An unknown number is hashed as one fixed NaN. Where
 * rewards are paid on landing there follow, for each row, the successors that have a reward, with it, closed by
 * -1, and then what the others pay, if there are any outside of pinned rows.
 */

enum { BUFFER_WORDS = 4096 };

typedef struct digest_state {
    nadir_sha256 hash;
    uint64_t buffer[BUFFER_WORDS]; /* little-endian; [used] are not hashed yet */
    size_t used;
} digest_state;

static inline void add_bits(digest_state *digester, uint64_t bits)
{
    if (digester->used == BUFFER_WORDS) {
        nadir_sha256_update(&digester->hash, digester->buffer, sizeof digester->buffer);
        digester->used = 0;
    }
    digester->buffer[digester->used++] = htole64(bits);
}

static inline void add_integer(digest_state *digester, int64_t value)
{
    add_bits(digester, (uint64_t)value);
}

static inline void add_double(digest_state *digester, double value)
{
    const double plain = isnan(value) ? (double)NAN : value + 0.0; /* -0 + 0 = 0 */
    uint64_t bits;
    memcpy(&bits, &plain, sizeof bits);
    add_bits(digester, bits);
}

static void start(digest_state *digester, uint64_t tag)
{
    nadir_sha256_start(&digester->hash);
    digester->used = 0;
    add_bits(digester, tag);
}

static void finish(digest_state *digester, char text[65])
{
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256_update(&digester->hash, digester->buffer, digester->used * sizeof *digester->buffer);
    nadir_sha256_finish(&digester->hash, bytes);
    nadir_sha256_hex(bytes, text);
}

static int64_t count_nonzeros(const nadir_row *entries)
{
    int64_t count = 0;
    for (int64_t i = 0; i < entries->count; i++) {
        count += entries->values[i] > 0;
    }
    return count;
}

static void add_row(digest_state *digester, const nadir_model *model, int64_t row)
{
    const nadir_row entries = nadir_model_row(model, row);
    add_integer(digester, count_nonzeros(&entries));
    for (int64_t i = 0; i < entries.count; i++) {
        if (entries.values[i] > 0) {
            add_integer(digester, nadir_row_column(&entries, i));
            add_double(digester, entries.values[i]);
        }
        if (model->lower != NULL) { /* a sparse row, all positive */
            add_double(digester, model->lower[model->row_starts[row] + i]);
            add_double(digester, model->upper[model->row_starts[row] + i]);
        }
        if (model->weights != NULL) { /* likewise */
            add_double(digester, model->weights[model->row_starts[row] + i]);
        }
    }
    add_double(digester, model->rewards != NULL ? model->rewards[row] : NAN);
    add_double(digester, model->scales != NULL ? model->scales[row] : 1);
}

/* Rewards that are paid on landing. */
static void add_landing(digest_state *digester, const nadir_model *model)
{
    bool unseen = false;
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row entries = nadir_model_row(model, row);
        int64_t given = 0;
        for (int64_t i = 0; i < entries.count; i++) {
            if (!isnan(entries.rewards[i])) {
                add_integer(digester, nadir_row_column(&entries, i));
                add_double(digester, entries.rewards[i]);
                given++;
            }
        }
        add_integer(digester, -1);
        unseen = unseen || (given < model->states && !nadir_model_is_pinned(model, row));
    }
    if (unseen) {
        nadir_unseen kind;
        double value;
        (void)nadir_model_rewards(model, &kind, &value);
        add_integer(digester, (int64_t)kind);
        add_double(digester, value);
    }
}

nadir_status nadir_model_digest(nadir_context *context, const nadir_model *model, char digest[65])
{
    digest_state digester;
    if (model->exchange != NULL) {
        digest[0] = '\0'; /* no process has the whole model */
        return NADIR_OK;
    }
    start(&digester, 0x314c45444f4dU); /* "MODEL1" */
    add_integer(&digester, model->states);
    add_integer(&digester, model->rows);
    for (int64_t s = 0; s < model->states; s++) {
        add_integer(&digester, model->state_rows[s + 1] - model->state_rows[s]);
        add_double(&digester, model->initial[s]);
    }
    for (int64_t row = 0; row < model->rows; row++) {
        add_row(&digester, model, row);
        if (row % 64 == 0) {
            NADIR_TRY(nadir_progress(context, "hashing", (double)row / (double)model->rows));
        }
    }
    add_double(&digester, model->discount);
    if (model->transition_rewards != NULL) {
        add_landing(&digester, model);
    }
    finish(&digester, digest);
    return NADIR_OK;
}

nadir_status nadir_policy_digest(nadir_context *context, const nadir_policy *policy, char digest[65])
{
    digest_state digester;
    if (context->engine != NULL) {
        digest[0] = '\0'; /* nor the whole policy */
        return NADIR_OK;
    }
    start(&digester, 0x3159434c4f50U); /* "POLCY1" */
    add_integer(&digester, policy->rows);
    for (int64_t row = 0; row < policy->rows; row++) {
        add_double(&digester, policy->probabilities[row]);
    }
    finish(&digester, digest);
    return NADIR_OK;
}

/*
 * Successors numbered anew when the states are distributed over processes; see model.h.
 *
 * Which states of other processes occur is kept as one bit for each of all states, with a count of the bits
 * before each word: the number of a ghost is then found without a search. A row whose successors rise stays
 * so: those below the own states move behind the own ones.
 */

enum { BITS = 64 };

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
    if (model->lower != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: a model with intervals is for one process: leave out --engine", path);
    }
    if (model->weights != NULL) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: a model with weights of entries is for one process: leave out --engine", path);
    }
    if (model->dense != NULL) { /* rows of a part are always CSR */
        NADIR_CHECK(nadir_model_to_sparse(context, model, total));
    }
    NADIR_NEW_ZERO(context, ghosts.bits, ghosts.words);
    NADIR_NEW(context, ghosts.before, ghosts.words);
    NADIR_CHECK(collect(context, model, path, first, total, &ghosts));
    settle(context, first, first + model->states, total, &ghosts);
    if (model->states + ghosts.count > INT32_MAX) {
        NADIR_CHECK(
            nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                       "%s: %lld states and %lld successors of other processes; columns are numbered in "
                       "32 bits: take more processes",
                       path, (long long)model->states, (long long)ghosts.count));
    }
    NADIR_NEW(context, places, ghosts.count);
    list(&ghosts, places);
    for (int64_t row = 0; row < model->rows; row++) {
        renumber_row(model, row, first, &ghosts);
    }
    NADIR_CHECK(nadir_exchange_create(context, first, model->states, ghosts.count, places, &model->exchange));
cleanup:
    NADIR_RELEASE(context, ghosts.bits, ghosts.before, places);
    return status;
}
