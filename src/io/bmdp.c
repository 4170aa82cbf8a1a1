/*
 * bmdp.c: interval models as bmdp-tool has them (Lahijanian, Andersson and Belta), which IntervalMDP.jl reads, too.
 *
 *     3                   states
 *     2                   actions
 *     1                   terminal states,
 *     2                   one on each line: they have the label `terminal`, for --goal
 *     0 0 1 0.2 0.5       from, action, to, lower and upper end of the probability
 *
 * Numbers begin with 0. A state without lines ends there. There are no rewards, and no initial distribution.
 */
#include "io/format.h"
#include "io/labels.h"
#include "io/text_reader.h"
#include "model/model_builder.h"
#include "model/terminal.h"

/* The only number of a line. */
static bool take_alone(nadir_cursor line, int64_t *number)
{
    return nadir_cursor_take_integer(&line, number) && !nadir_cursor_skip_blanks(&line);
}

/* Three lines with a number each. */
static bool recognises(const char *head, size_t length)
{
    nadir_cursor rest = {head, head + length};
    nadir_cursor line;
    int64_t number;
    for (int i = 0; i < 3; i++) {
        if (!nadir_cursor_take_content(&rest, "#", &line) || !take_alone(line, &number)) {
            return false;
        }
    }
    return true;
}

static nadir_status read_number(nadir_text *text, const char *what, int64_t least, int64_t most,
                                int64_t *number)
{
    nadir_cursor line;
    bool more;
    NADIR_TRY(nadir_text_content(text, "#", &line, &more));
    if (!more || !take_alone(line, number) || *number < least || *number > most) {
        return nadir_text_fail(text, "%s is missing; expected a line with a whole number from %lld to %lld",
                               what, (long long)least, (long long)most);
    }
    return NADIR_OK;
}

static nadir_status read_transition(nadir_text *text, nadir_cursor line, int64_t states, int64_t actions,
                                    nadir_builder *builder)
{
    int64_t from;
    int64_t action;
    int64_t to;
    double lower;
    double upper;
    if (!nadir_cursor_take_integer(&line, &from) || !nadir_cursor_take_integer(&line, &action) ||
        !nadir_cursor_take_integer(&line, &to) || !nadir_cursor_take_double(&line, &lower) ||
        !nadir_cursor_take_double(&line, &upper) || nadir_cursor_skip_blanks(&line)) {
        return nadir_text_fail(text, "expected five numbers: from, action, to, lower and upper probability");
    }
    if (from < 0 || from >= states || to < 0 || to >= states || action < 0 || action >= actions) {
        return nadir_text_fail(
            text,
            "state %lld, action %lld, successor %lld; the file has the states 0 to %lld and the "
            "actions 0 to %lld",
            (long long)from, (long long)action, (long long)to, (long long)states - 1, (long long)actions - 1);
    }
    return nadir_builder_add_interval(builder, from, action, to, lower, upper, 0, text->line);
}

static nadir_status read_bmdp(nadir_context *context, const char *path, const nadir_read_settings *settings,
                              nadir_model **model)
{
    static const char label[] = "terminal";
    const nadir_cursor terminal = {label, label + sizeof label - 1};
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_builder builder = {0};
    nadir_cursor line;
    int64_t states = 0;
    int64_t actions = 0;
    int64_t ends = 0;
    bool more;
    NADIR_CHECK(nadir_text_open(context, path, &text));
    NADIR_CHECK(nadir_builder_start(context, path, &builder));
    NADIR_CHECK(read_number(&text, "the number of states", 1, INT32_MAX - 1, &states));
    NADIR_CHECK(read_number(&text, "the number of actions", 1, INT32_MAX, &actions));
    NADIR_CHECK(read_number(&text, "the number of terminal states", 0, states, &ends));
    builder.states = states;
    for (int64_t i = 0; i < ends; i++) {
        int64_t state = 0;
        NADIR_CHECK(read_number(&text, "a terminal state", 0, states - 1, &state));
        NADIR_CHECK(nadir_terminal_mark(&builder, states, settings, state, terminal));
    }
    NADIR_CHECK(nadir_text_content(&text, "#", &line, &more));
    while (more) {
        NADIR_CHECK(read_transition(&text, line, states, actions, &builder));
        NADIR_CHECK(nadir_text_content(&text, "#", &line, &more));
    }
    if (builder.count == 0) {
        NADIR_CHECK(nadir_text_fail(&text, "no transitions follow the terminal states"));
    }
    builder.no_rewards = true;
    nadir_text_close(&text);
    NADIR_CHECK(nadir_builder_finish(&builder, settings, model));
cleanup:
    nadir_builder_clear(&builder);
    nadir_text_close(&text);
    return status;
}

/* Probabilities of a model without intervals are both ends. */
static nadir_status write_bmdp(nadir_context *context, const nadir_model *model, const char *path,
                               const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    int64_t actions = 1;
    int64_t ends = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t last = nadir_model_row_action(model, s, model->state_rows[s + 1] - 1);
        actions = last >= actions ? last + 1 : actions;
        ends += nadir_model_is_terminal(model, s);
    }
    NADIR_CHECK(nadir_output_open(context, path, &output));
    nadir_output_format(&output, "%lld\n%lld\n%lld\n", (long long)model->states, (long long)actions,
                        (long long)ends);
    for (int64_t s = 0; s < model->states; s++) {
        if (nadir_model_is_terminal(model, s)) {
            nadir_output_format(&output, "%lld\n", (long long)s);
        }
    }
    for (int64_t s = 0; s < model->states; s++) {
        for (int64_t row = model->state_rows[s];
             !nadir_model_is_terminal(model, s) && row < model->state_rows[s + 1]; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            for (int64_t i = 0; i < entries.count; i++) {
                const double p = entries.values[i];
                const int64_t place = model->lower != NULL ? model->row_starts[row] + i : 0; /* CSR */
                if (p > 0) {
                    nadir_output_format(&output, "%lld %lld %lld ", (long long)s,
                                        (long long)nadir_model_row_action(model, s, row),
                                        (long long)nadir_row_column(&entries, i));
                    nadir_output_double(&output, model->lower != NULL ? model->lower[place] : p);
                    nadir_output_text(&output, " ");
                    nadir_output_double(&output, model->lower != NULL ? model->upper[place] : p);
                    nadir_output_text(&output, "\n");
                }
            }
        }
        NADIR_CHECK(nadir_progress(context, "writing", (double)s / (double)model->states));
    }
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}

const nadir_format nadir_format_bmdp = {
    .name = "bmdp",
    .endings = " .bmdp ",
    .title = "bmdp-tool",
    .holds = NADIR_HOLDS_BOX | NADIR_HOLDS_ACTION_NUMBERS | NADIR_HOLDS_RAGGED | NADIR_HOLDS_TERMINAL,
    .recognises = recognises,
    .read = read_bmdp,
    .write = write_bmdp,
};
