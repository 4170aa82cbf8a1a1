/* labels.h: the labels that model checkers give to choices and to states. */
#ifndef NADIR_IO_LABELS_H
#define NADIR_IO_LABELS_H

#include "io/text_reader.h"
#include "model/model_builder.h"

/* ---- Labels of choices: action numbers and names ----------------------------------------------------- */

/*
 * From the labels that a file gives its actions to action numbers and names, and back.
 *
 * A model has action numbers, unique within a state, and optionally one table of names by number. Files of
 * model checkers label each choice of a state with a word. If every choice has a label, every label is a
 * plain number (0 or digits without a leading zero) and none occurs twice in a state, the labels are the
 * numbers and there are no names. Otherwise each distinct label gets a number in order of first appearance
 * and is its name; a label that occurs again in the same state gets a name of its own, "label#2", "label#3"
 * and so on.
 */

/* The label of a choice that has none while others have one. */
#define NADIR_NO_LABEL "__NOLABEL__"

/* The label of one choice. */
typedef struct nadir_choice_label {
    int32_t state;
    int32_t choice;
    int32_t label; /* number among the distinct labels */
} nadir_choice_label;

/* What was read so far; a struct of zeros is empty. */
typedef struct nadir_action_labels {
    nadir_names names; /* the distinct labels in order of first appearance */
    nadir_name_index index;
    nadir_choice_label *choices;
    size_t count;
    size_t capacity;
} nadir_action_labels;

/* Choices may come in any order and more than once, each time with the same label. The text is for messages.
 */
nadir_status nadir_action_labels_add(nadir_text *text, nadir_action_labels *labels, int64_t state,
                                     int64_t choice, nadir_cursor label);

/* The choices of all states; the builder is sorted. */
int64_t nadir_count_choices(const nadir_builder *builder);

/* Replaces the choices, which until now stand as action numbers in the builder, by numbers as above, and
 * gives the names to the builder's model. Without labels nothing changes. */
nadir_status nadir_action_labels_apply(nadir_action_labels *labels, nadir_builder *builder);

void nadir_action_labels_clear(nadir_context *context, nadir_action_labels *labels);

/* What becomes of a model's action names and initial distribution when they are written as labels. */
typedef struct nadir_label_fit {
    bool usable;       /* every action has a name, a single word that no other has, not all of them numbers */
    bool same_numbers; /* reading gives the same action numbers again */
    int64_t initial;   /* states with positive probability if mu is uniform over them, else 0 */
} nadir_label_fit;

/* Terminal states do not count: no choice is written for them. */
nadir_status nadir_action_labels_fit(nadir_context *context, const nadir_model *model, nadir_label_fit *fit);

/* Says which names and which initial distribution are lost. */
void nadir_label_fit_report(nadir_context *context, const nadir_model *model, const char *path,
                            const nadir_label_fit *fit);

/* ---- Initial states and distributions ---------------------------------------------------------------- */

/* initial: "uniform", the number or the name of a state, or a file: .npy with S numbers, or CSV
 * `idstate,probability` where states left out have probability 0. NADIR_ERROR_ARGUMENT when it is none of
 * these. What sums to one within 1e-5 is normalised. mu: [states], written on success alone. */
nadir_status nadir_initial_read(nadir_context *context, const nadir_model *model, const char *initial,
                                double *mu);

/* Marks the states that --goal, --avoid and --until name (model/terminal.h), unless labels of the file did. */
nadir_status nadir_terminal_read(nadir_context *context, nadir_model *model,
                                 const nadir_read_settings *settings);

/* Marks a state by one of its labels; states: how many the model will have. */
nadir_status nadir_terminal_mark(nadir_builder *builder, int64_t states, const nadir_read_settings *settings,
                                 int64_t state, nadir_cursor label);

/* mu of the builder's model, [states], is positive for the states labelled init, and 0 for others: makes it uniform
 * over the former, or over all states if there are none; a notice says so unless there is just one. path: the file
 * with the labels. */
void nadir_initial_states_spread(nadir_builder *builder, const char *path);

#endif
