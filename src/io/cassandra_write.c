/*
 * cassandra_write.c: a model as a Cassandra file; see cassandra_parse.c for the format.
 *
 * One statement a line, each of them in its longest form, T: a : s : e p and R: a : s : e : * r: the form
 * that every reader of such files knows, with or without observations. Numbers have a digit on either side of
 * the point, as the format asks for. A .pomdp needs observations: the state itself is observed.
 */
#include "io/cassandra.h"

#include "core/number.h"

#include <math.h>
#include <string.h>

#define PROBABILITIES_PER_LINE 1000

/* A file being written, and whose names can be. */
typedef struct writer {
    nadir_output *output;
    const nadir_model *model;
    bool state_names;
    bool action_names;
} writer;

static bool is_reserved(const char *word)
{
    static const char *const words[] = {
        "discount", "values", "states", "actions", "observations", "start", "include", "exclude", "reward",
        "rewards",  "cost",   "costs",  "uniform", "identity",     "reset", "T",       "O",       "R"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

/* A letter, then letters, digits, _ and -; no word of the format itself. */
static bool is_identifier(const char *name)
{
    const size_t length = strlen(name);
    if (!is_letter(name[0]) || length > NADIR_CASSANDRA_WORD_LENGTH || is_reserved(name)) {
        return false;
    }
    for (size_t i = 1; i < length; i++) {
        const bool digit = name[i] >= '0' && name[i] <= '9';
        if (!is_letter(name[i]) && !digit && name[i] != '_' && name[i] != '-') {
            return false;
        }
    }
    return true;
}

/* Whether the first `count` names can stand in a file: there, well-formed and all different. Names that
 * cannot are lost with a warning. */
static nadir_status choose_names(nadir_context *context, const nadir_names *names, int64_t count,
                                 const char *what, const char *path, bool *usable)
{
    nadir_status status = NADIR_OK;
    nadir_name_index index = {0};
    *usable = *usable && names->count >= count;
    for (int64_t i = 0; *usable && i < count; i++) {
        int64_t existing;
        NADIR_CHECK(nadir_name_index_add(context, &index, names, i, &existing));
        *usable = existing < 0 && is_identifier(nadir_names_get(names, i));
    }
    if (!*usable && names->count > 0) {
        nadir_log(
            context, NADIR_LOG_WARNING,
            "%s: the names of %s are lost: the format has only names of a letter, then letters, digits, _ "
            "and -, one for each number from 0 on",
            path, what);
    }
cleanup:
    nadir_name_index_clear(context, &index);
    return status;
}

static void write_real(nadir_output *output, double value)
{
    char text[NADIR_NUMBER_LENGTH];
    (void)nadir_format_double(value, text);
    const size_t digits = strcspn(text, ".e");
    nadir_output_write(output, text, digits);
    if (text[digits] != '.') {
        nadir_output_text(output, ".0");
    }
    nadir_output_text(output, text + digits);
}

static void write_member(nadir_output *output, const nadir_names *names, bool named, int64_t number)
{
    if (named) {
        nadir_output_text(output, nadir_names_get(names, number));
    } else {
        nadir_output_integer(output, number);
    }
}

/* "states: 3" or "states: a b c". */
static void write_list(nadir_output *output, const char *what, const nadir_names *names, bool named,
                       int64_t count)
{
    nadir_output_format(output, "%s:", what);
    if (!named) {
        nadir_output_format(output, " %lld", (long long)count);
    }
    for (int64_t i = 0; named && i < count; i++) {
        nadir_output_text(output, i > 0 && i % PROBABILITIES_PER_LINE == 0 ? "\n" : " ");
        nadir_output_text(output, nadir_names_get(names, i));
    }
    nadir_output_text(output, "\n");
}

static void write_start(nadir_output *output, const nadir_model *model)
{
    bool uniform = true;
    for (int64_t s = 0; s < model->states; s++) {
        uniform = uniform && model->initial[s] == 1.0 / (double)model->states;
    }
    nadir_output_text(output, uniform ? "start: uniform" : "start:");
    for (int64_t s = 0; !uniform && s < model->states; s++) {
        nadir_output_text(output, s > 0 && s % PROBABILITIES_PER_LINE == 0 ? "\n" : " ");
        write_real(output, model->initial[s]);
    }
    nadir_output_text(output, "\n");
}

/* "T: a : s : e p" or, with rewards, "R: a : s : e : * r", where e < 0 stands for all of them. */
static void write_statement(const writer *writing, bool reward, int64_t state, int64_t action, int64_t end,
                            double number)
{
    const nadir_model *model = writing->model;
    nadir_output *output = writing->output;
    nadir_output_text(output, reward ? "R: " : "T: ");
    write_member(output, &model->action_names, writing->action_names, action);
    nadir_output_text(output, " : ");
    write_member(output, &model->state_names, writing->state_names, state);
    nadir_output_text(output, end < 0 ? " : *" : " : ");
    if (end >= 0) {
        write_member(output, &model->state_names, writing->state_names, end);
    }
    nadir_output_text(output, reward ? " : * " : " ");
    write_real(output, number);
    nadir_output_text(output, "\n");
}

/* The transitions of a row, or its rewards: that of the row if it is not zero, or all that are given. */
static void write_row(const writer *writing, bool rewards, int64_t state, int64_t action)
{
    const int64_t row = writing->model->state_rows[state] + action;
    const nadir_row entries = nadir_model_row(writing->model, row);
    if (rewards && entries.rewards == NULL) {
        if (writing->model->rewards[row] != 0) {
            write_statement(writing, true, state, action, -1, writing->model->rewards[row]);
        }
        return;
    }
    for (int64_t i = 0; i < entries.count; i++) {
        const double number = rewards ? entries.rewards[i] : entries.values[i];
        if (rewards ? !isnan(number) : number > 0) {
            write_statement(writing, rewards, state, action, nadir_row_column(&entries, i), number);
        }
    }
}

static void write_preamble(const writer *writing, int64_t actions, bool observed)
{
    nadir_output *output = writing->output;
    const nadir_model *model = writing->model;
    nadir_output_text(output, "discount: ");
    write_real(output, model->discount);
    nadir_output_text(output, "\nvalues: reward\n");
    write_list(output, "states", &model->state_names, writing->state_names, model->states);
    write_list(output, "actions", &model->action_names, writing->action_names, actions);
    if (observed) {
        write_list(output, "observations", NULL, false, model->states);
    }
    write_start(output, model);
    for (int64_t s = 0; observed && s < model->states; s++) {
        nadir_output_text(output, "O: * : ");
        write_member(output, &model->state_names, writing->state_names, s);
        nadir_output_format(output, " : %lld 1.0\n", (long long)s);
    }
}

static nadir_status write_rows(nadir_context *context, const writer *writing, int64_t actions)
{
    const nadir_model *model = writing->model;
    for (int rewards = 0; rewards < (model->rewards != NULL ? 2 : 1); rewards++) {
        if (rewards && model->transition_rewards == NULL) {
            nadir_output_text(writing->output, "R: * : * : * : * 0.0\n"); /* tells rewards of 0 from none */
        }
        for (int64_t row = 0; row < model->rows; row++) {
            write_row(writing, rewards, row / actions, row % actions);
            if (row % 4096 == 0) {
                const double share = 0.5 * (double)row / (double)model->rows;
                NADIR_TRY(nadir_progress(context, "writing", 0.5 * rewards + share));
            }
        }
    }
    return NADIR_OK;
}

static bool ends_with_nocase(const char *path, const char *ending)
{
    const size_t length = strlen(path);
    const size_t tail = strlen(ending);
    return length >= tail &&
           nadir_cursor_equals_nocase((nadir_cursor){path + length - tail, path + length}, ending);
}

nadir_status nadir_cassandra_write(nadir_context *context, const nadir_model *model, const char *path,
                                   const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    writer writing = {
        .output = &output, .model = model, .state_names = true, .action_names = model->row_actions == NULL};
    const int64_t actions = model->state_rows[1];
    if (isnan(model->discount)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "%s: a Cassandra file holds a discount, and the model has none; give --discount",
                          path);
    }
    NADIR_CHECK(
        choose_names(context, &model->state_names, model->states, "states", path, &writing.state_names));
    NADIR_CHECK(choose_names(context, &model->action_names, actions, "actions", path, &writing.action_names));
    NADIR_CHECK(nadir_output_open(context, path, &output));
    write_preamble(&writing, actions, ends_with_nocase(path, ".pomdp"));
    NADIR_CHECK(write_rows(context, &writing, actions));
    NADIR_CHECK(nadir_output_commit(context, &output));
cleanup:
    nadir_output_close(context, &output);
    return status;
}
