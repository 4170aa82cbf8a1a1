/*
 * prism_write.c: writing a model as explicit files of PRISM; the grammar is in prism_read.c.
 *
 * The transitions go to the .tra file, rewards other than 0 to a .trew file beside it, and an initial
 * distribution that is uniform over some of the states to a .lab file. Terminal states have no transitions.
 */
#include "io/format.h"
#include "io/labels.h"

#include <string.h>

typedef struct prism_writer {
    nadir_context *context;
    const nadir_model *model;
    int64_t choices, transitions, rewards; /* those that are written */
    bool labelled;                         /* actions have labels */
} prism_writer;

/* The reward of entry i of a row; 0 if the model has none. */
static double reward_of(const nadir_model *model, int64_t row, const nadir_row *entries, int64_t i)
{
    if (model->rewards == NULL) {
        return 0;
    }
    return entries->rewards != NULL ? entries->rewards[i] : model->rewards[row];
}

static void count_lines(prism_writer *writer)
{
    const nadir_model *model = writer->model;
    for (int64_t state = 0; state < model->states; state++) {
        const bool terminal = nadir_model_is_terminal(model, state);
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1] && !terminal; row++) {
            const nadir_row entries = nadir_model_row(model, row);
            writer->choices++;
            for (int64_t i = 0; i < entries.count; i++) {
                const bool listed = entries.values[i] > 0;
                writer->transitions += listed;
                writer->rewards += listed && reward_of(model, row, &entries, i) != 0;
            }
        }
    }
}

/* The transitions of a row with their probabilities, or those with a reward with their rewards. */
static void write_row(const prism_writer *writer, nadir_output *output, int64_t state, int64_t row,
                      bool rewards)
{
    const nadir_model *model = writer->model;
    const nadir_row entries = nadir_model_row(model, row);
    const char *label = NULL;
    if (writer->labelled && !rewards) {
        label = nadir_names_get(&model->action_names, nadir_model_row_action(model, state, row));
        label = strcmp(label, NADIR_NO_LABEL) != 0 ? label : NULL;
    }
    for (int64_t i = 0; i < entries.count; i++) {
        const double number = rewards ? reward_of(model, row, &entries, i) : entries.values[i];
        if (entries.values[i] > 0 && number != 0) { /* those of a box are positive */
            nadir_output_integer(output, state);
            nadir_output_text(output, " ");
            nadir_output_integer(output, row - model->state_rows[state]);
            nadir_output_text(output, " ");
            nadir_output_integer(output, nadir_row_column(&entries, i));
            nadir_output_text(output, " ");
            if (rewards) {
                nadir_output_double(output, number);
            } else {
                nadir_probability_write(output, model, row, &entries, i, ",");
            }
            nadir_output_text(output, label != NULL ? " " : "");
            nadir_output_text(output, label != NULL ? label : "");
            nadir_output_text(output, "\n");
        }
    }
}

static nadir_status write_rows(const prism_writer *writer, nadir_output *output, bool rewards)
{
    const nadir_model *model = writer->model;
    const char *task = rewards ? "writing rewards" : "writing transitions";
    nadir_output_format(output, "%lld %lld %lld\n", (long long)model->states, (long long)writer->choices,
                        (long long)(rewards ? writer->rewards : writer->transitions));
    for (int64_t state = 0; state < model->states; state++) {
        if (state % 1024 == 0) {
            NADIR_TRY(nadir_progress(writer->context, task, (double)state / (double)model->states));
        }
        if (nadir_model_is_terminal(model, state)) {
            continue;
        }
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            write_row(writer, output, state, row, rewards);
        }
    }
    return NADIR_OK;
}

static void write_initial_states(const nadir_model *model, nadir_output *output)
{
    nadir_output_text(output, "0=\"init\"\n");
    for (int64_t state = 0; state < model->states; state++) {
        if (model->initial[state] > 0) {
            nadir_output_integer(output, state);
            nadir_output_text(output, ": 0\n");
        }
    }
}

nadir_status nadir_prism_write(nadir_context *context, const nadir_model *model, const char *path,
                               const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    prism_writer writer = {.context = context, .model = model};
    nadir_output transitions = NADIR_OUTPUT_CLOSED;
    nadir_output rewards = NADIR_OUTPUT_CLOSED;
    nadir_output labels = NADIR_OUTPUT_CLOSED;
    char *reward_path = NULL;
    char *label_path = NULL;
    nadir_label_fit fit;
    NADIR_CHECK(nadir_action_labels_fit(context, model, &fit));
    writer.labelled = fit.usable;
    count_lines(&writer);
    NADIR_CHECK(nadir_output_open(context, path, &transitions));
    NADIR_CHECK(write_rows(&writer, &transitions, false));
    if (model->rewards != NULL) {
        NADIR_CHECK(nadir_sibling_path(context, path, ".trew", &reward_path));
        NADIR_CHECK(nadir_output_open(context, reward_path, &rewards));
        NADIR_CHECK(write_rows(&writer, &rewards, true));
    }
    if (fit.initial > 0 && fit.initial < model->states) { /* over all states: what is read without labels */
        NADIR_CHECK(nadir_sibling_path(context, path, ".lab", &label_path));
        NADIR_CHECK(nadir_output_open(context, label_path, &labels));
        write_initial_states(model, &labels);
    }
    /* The model itself last: once it has its name, all of it is there. */
    if (reward_path != NULL) {
        NADIR_CHECK(nadir_output_commit(context, &rewards));
    }
    if (label_path != NULL) {
        NADIR_CHECK(nadir_output_commit(context, &labels));
    }
    NADIR_CHECK(nadir_output_commit(context, &transitions));
    nadir_label_fit_report(context, model, path, &fit);
    if (reward_path != NULL || label_path != NULL) {
        nadir_log(context, NADIR_LOG_NOTICE, "%s: only a part of the model; read it with%s%s%s%s", path,
                  reward_path != NULL ? " --rewards " : "", reward_path != NULL ? reward_path : "",
                  label_path != NULL ? " --labels " : "", label_path != NULL ? label_path : "");
    }
cleanup:
    nadir_output_close(context, &transitions);
    nadir_output_close(context, &rewards);
    nadir_output_close(context, &labels);
    NADIR_RELEASE(context, reward_path, label_path);
    return status;
}
