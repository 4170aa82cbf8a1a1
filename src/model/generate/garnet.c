/*
 * garnet.c: sparse random models with a given number of successors, known as Garnet.
 *
 * Each row has exactly `branch` successors, a uniformly random set of states. Their probabilities are the
 * gaps between branch - 1 uniform points of (0, 1), which makes every distribution on them equally likely.
 * Rewards are uniform in [0, 1), one for each row. Drawn row after row: successors, points, reward.
 */
#include "model/generate.h"

#include <stdlib.h>

#define BRANCH 5

/* With more points than this two of them meet in most rows, and draw_probabilities would never end. */
#define BRANCH_LIMIT ((int64_t)1 << 26)

static const nadir_generator_setting used[] = {
    {"states", "number of states", 100, 1, NADIR_STATES_LIMIT},
    {"actions", "number of actions of each state", 4, 1, INT32_MAX},
    {"branch", "successors of each row; default 5, or all states if there are fewer", NAN, 1, BRANCH_LIMIT},
};

typedef struct workspace {
    nadir_random stream;
    bool *chosen;     /* [states] all false between rows */
    uint64_t *values; /* [branch + 1] numbers to be sorted */
} workspace;

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Rows are short as a rule: then insertion beats the call for every comparison. */
static void sort(int64_t count, uint64_t *values)
{
    if (count > 32) {
        qsort(values, (size_t)count, sizeof *values, compare);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        const uint64_t value = values[i];
        int64_t index = i;
        for (; index > 0 && values[index - 1] > value; index--) {
            values[index] = values[index - 1];
        }
        values[index] = value;
    }
}

/* values[0 .. branch) = a random set of states, rising (Floyd's algorithm: for j = S - branch .. S - 1 take a
 * random t <= j, or j itself where t was taken before). */
static void draw_successors(workspace *work, int64_t states, int64_t branch)
{
    for (int64_t i = 0; i < branch; i++) {
        const uint64_t last = (uint64_t)(states - branch + i);
        const uint64_t drawn = nadir_random_below(&work->stream, last + 1);
        work->values[i] = work->chosen[drawn] ? last : drawn;
        work->chosen[work->values[i]] = true;
    }
    for (int64_t i = 0; i < branch; i++) {
        work->chosen[work->values[i]] = false;
    }
    sort(branch, work->values);
}

/* probabilities[0 .. branch) = the gaps between random points. As multiples of 2^-53 they are exact, and so
 * is their sum. Points that meet would lose a successor: all are drawn again, which is very rare. */
static void draw_probabilities(workspace *work, int64_t branch, double *probabilities)
{
    const uint64_t one = UINT64_C(1) << 53;
    bool positive = false;
    while (!positive) {
        work->values[0] = 0;
        for (int64_t i = 1; i < branch; i++) {
            work->values[i] = nadir_random_next(&work->stream) >> 11;
        }
        work->values[branch] = one;
        sort(branch, work->values);
        positive = true;
        for (int64_t i = 0; i < branch; i++) {
            const uint64_t gap = work->values[i + 1] - work->values[i];
            probabilities[i] = (double)gap * 0x1p-53;
            positive = positive && gap > 0;
        }
    }
}

static void draw_row(workspace *work, int64_t states, int64_t branch, nadir_model *model)
{
    draw_successors(work, states, branch);
    for (int64_t i = 0; i < branch; i++) {
        model->columns[model->nonzeros + i] = (int32_t)work->values[i];
    }
    draw_probabilities(work, branch, model->probabilities + model->nonzeros);
    model->nonzeros += branch;
    nadir_generate_end_row(model, nadir_random_uniform(&work->stream));
}

static nadir_status fill(nadir_context *context, const nadir_generate_settings *settings, nadir_model *model)
{
    nadir_status status = NADIR_OK;
    workspace work = {.chosen = NULL};
    const int64_t states = settings->states;
    const int64_t rows = states * settings->actions;
    const int64_t standard = states < BRANCH ? states : BRANCH;
    const int64_t branch = settings->branch == 0 ? standard : settings->branch;
    int64_t transitions;
    if (branch > states) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "garnet: branch is %lld; expected at most the number of states, %lld",
                          (long long)branch, (long long)states);
    }
    NADIR_CHECK(nadir_generate_size(context, states, settings->actions, branch, &transitions));
    NADIR_CHECK(nadir_generate_reserve(context, model, states, rows, transitions));
    NADIR_NEW_ZERO(context, work.chosen, states);
    NADIR_NEW(context, work.values, branch + 1);
    nadir_random_seed(&work.stream, settings->seed);
    for (int64_t s = 0; s < states; s++) {
        for (int64_t a = 0; a < settings->actions; a++) {
            NADIR_CHECK(nadir_generate_progress(context, model->rows, rows, branch));
            draw_row(&work, states, branch, model);
        }
        nadir_generate_end_state(model);
    }
cleanup:
    nadir_release(context, work.chosen);
    nadir_release(context, work.values);
    return status;
}

const nadir_generate_kind nadir_generate_garnet = {
    .facts = {.name = "garnet",
              .summary = "sparse random kernel, uniform rewards",
              .source = "Archibald, McKinnon and Thomas 1995, J. Oper. Res. Soc. 46",
              .random = true,
              .discount = 0.95,
              NADIR_GENERATE_USES(used)},
    .fill = fill,
};
