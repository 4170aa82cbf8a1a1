/*
 * drn_write.c: writing a model as a DRN file of Storm; the grammar is in drn_read.c.
 *
 * The rewards of rows are those of actions, in one model named "reward". A state has the label init where the
 * initial distribution, uniform over some states, is positive. Terminal states have no action. Current
 * readers of Storm ask for @value_type.
 */
#include "core/file.h"
#include "io/format.h"
#include "io/labels.h"

typedef struct drn_writer {
    nadir_context *context;
    const nadir_model *model;
    nadir_output output;
    bool labelled; /* actions have their names as labels, else their numbers */
    bool initial;  /* states have the label init */
} drn_writer;

static void write_header(drn_writer *writer)
{
    const nadir_model *model = writer->model;
    int64_t choices = 0;
    for (int64_t state = 0; state < model->states; state++) {
        choices += nadir_model_is_terminal(model, state)
                       ? 0
                       : model->state_rows[state + 1] - model->state_rows[state];
    }
    nadir_output_format(&writer->output,
                        "// Written by nadir\n@type: "
                        "MDP\n%s@parameters\n\n@reward_models\n%s\n@nr_states\n%lld\n@nr_choices\n"
                        "%lld\n@model\n",
                        model->lower != NULL ? "@value_type: double-interval\n" : "@value_type: double\n",
                        model->rewards != NULL ? "reward" : "", (long long)model->states, (long long)choices);
}

static void write_row(drn_writer *writer, int64_t state, int64_t row)
{
    const nadir_model *model = writer->model;
    nadir_output *output = &writer->output;
    const int64_t action = nadir_model_row_action(model, state, row);
    nadir_output_text(output, "\taction ");
    if (writer->labelled) {
        nadir_output_text(output, nadir_names_get(&model->action_names, action));
    } else {
        nadir_output_integer(output, action);
    }
    if (model->rewards != NULL) {
        nadir_output_text(output, " [");
        nadir_output_double(output, model->rewards[row]);
        nadir_output_text(output, "]");
    }
    nadir_output_text(output, "\n");
    const nadir_row entries = nadir_model_row(model, row);
    for (int64_t i = 0; i < entries.count; i++) {
        if (entries.values[i] > 0) {
            nadir_output_text(output, "\t\t");
            nadir_output_integer(output, nadir_row_column(&entries, i));
            nadir_output_text(output, " : ");
            nadir_probability_write(output, model, row, &entries, i, ", ");
            nadir_output_text(output, "\n");
        }
    }
}

static nadir_status write_states(drn_writer *writer)
{
    const nadir_model *model = writer->model;
    for (int64_t state = 0; state < model->states; state++) {
        nadir_output_text(&writer->output, "state ");
        nadir_output_integer(&writer->output, state);
        nadir_output_text(&writer->output, model->rewards != NULL ? " [0]" : "");
        nadir_output_text(&writer->output, writer->initial && model->initial[state] > 0 ? " init\n" : "\n");
        const bool terminal = nadir_model_is_terminal(model, state);
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1] && !terminal; row++) {
            write_row(writer, state, row);
        }
        if (state % 1024 == 0) {
            NADIR_TRY(nadir_progress(writer->context, "writing", (double)state / (double)model->states));
        }
    }
    return NADIR_OK;
}

nadir_status nadir_drn_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings)
{
    (void)settings;
    nadir_status status = NADIR_OK;
    drn_writer writer = {.context = context, .model = model, .output = NADIR_OUTPUT_CLOSED};
    nadir_label_fit fit;
    NADIR_CHECK(nadir_action_labels_fit(context, model, &fit));
    writer.labelled = fit.usable;
    writer.initial = fit.initial > 0;
    NADIR_CHECK(nadir_output_open(context, path, &writer.output));
    write_header(&writer);
    NADIR_CHECK(write_states(&writer));
    NADIR_CHECK(nadir_output_commit(context, &writer.output));
    if (fit.usable && !fit.same_numbers) {
        nadir_log(context, NADIR_LOG_WARNING,
                  "%s: the numbers of actions are lost: the file has their names, which are numbered in "
                  "order of appearance",
                  path);
    }
    nadir_label_fit_report(context, model, path, &fit);
cleanup:
    nadir_output_close(context, &writer.output);
    return status;
}
