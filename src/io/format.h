/*
 * format.h: the contract of a file format.
 *
 * A format is one `static const` table, listed in registry.c. Readers trust nothing: sizes are checked
 * against the bytes of the file before anything is allocated, and every number is checked. Errors name the
 * file, line (or array), state and action.
 */
#ifndef NADIR_IO_FORMAT_H
#define NADIR_IO_FORMAT_H

#include "core/context.h"
#include "core/file.h"
#include "fit/data.h"
#include "model/model.h"

/* What a format can hold beyond states, actions, probabilities and the reward of each row. */
enum {
    NADIR_HOLDS_REWARDS = 1 << 0,
    NADIR_HOLDS_TRANSITION_REWARDS = 1 << 1,
    NADIR_HOLDS_DISCOUNT = 1 << 2,
    NADIR_HOLDS_INITIAL = 1 << 3,
    NADIR_HOLDS_SCALES = 1 << 4,
    NADIR_HOLDS_STATE_NAMES = 1 << 5,
    NADIR_HOLDS_ACTION_NUMBERS = 1 << 6, /* with gaps */
    NADIR_HOLDS_RAGGED = 1 << 7,         /* states with different numbers of actions */
    NADIR_HOLDS_BALL = 1 << 8,           /* radius, norm, set, domain */
    NADIR_HOLDS_TERMINAL = 1 << 9,       /* states without actions: their scale 0 is then not lost */
    NADIR_HOLDS_ACTION_NAMES = 1 << 10,
    NADIR_HOLDS_ZERO_REWARDS = 1 << 11, /* rewards of successors of probability 0 */
    NADIR_HOLDS_BOX = 1 << 12,          /* intervals of probabilities */
    NADIR_HOLDS_NOMINAL = 1 << 13,      /* and a nominal kernel other than the middle of these */
    NADIR_HOLDS_WEIGHTS = 1 << 14,      /* weights of entries */
    NADIR_HOLDS_NAMES = NADIR_HOLDS_STATE_NAMES | NADIR_HOLDS_ACTION_NAMES
};

/* The settings of nadir_read_settings and nadir_write_settings that only some formats know. */
enum {
    NADIR_TAKES_REWARDS = 1 << 0,
    NADIR_TAKES_LABELS = 1 << 1,
    NADIR_TAKES_REWARD_MODEL = 1 << 2,
    NADIR_TAKES_LAYOUT = 1 << 3,
    NADIR_TAKES_COMPRESS = 1 << 4,
    NADIR_TAKES_OUTCOME = 1 << 5
};

typedef struct nadir_format {
    const char *name;    /* "csv" */
    const char *endings; /* " .mdp .pomdp ": each surrounded by spaces; lower case */
    const char *title;   /* "craam CSV": for messages */
    unsigned holds;      /* NADIR_HOLDS_... */
    unsigned takes;      /* NADIR_TAKES_...: the caller refuses the others */

    /* Whether a file that begins with these bytes (the first 4096, or all) is of this format. */
    bool (*recognises)(const char *head, size_t length);

    /* Reads the states [first, end) of nadir_model_own_states, all of them where the process is alone. With
     * an engine the model is distributed over the processes (model/model.h). discount, initial and costs of the
     * settings are applied by the caller, afterwards. */
    nadir_status (*read)(nadir_context *context, const char *path, const nadir_read_settings *settings,
                         nadir_model **model);
    bool reads_parts; /* false: not called with an engine */

    /* Never asked for a model that it cannot hold; what else is lost was said already. */
    nadir_status (*write)(nadir_context *context, const nadir_model *model, const char *path,
                          const nadir_write_settings *settings);
} nadir_format;

/* Writers that stand in files of their own. */
nadir_status nadir_drn_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings);
nadir_status nadir_prism_write(nadir_context *context, const nadir_model *model, const char *path,
                               const nadir_write_settings *settings);

/* *model becomes one whose support is what the file of transitions lists for the rows that it mentions. */
nadir_status nadir_successors_apply(nadir_context *context, const char *path, nadir_model **model);

/* *title: of the model format that the content shows, other than a table; NULL: none. */
nadir_status nadir_model_format_of(nadir_context *context, const char *path, const char **title);

/* The outcomes of a CSV table of models, rising; none where it has no column of that name, or another format. ids: the
 * caller's. */
nadir_status nadir_csv_outcomes(nadir_context *context, const char *path, int64_t *count, int64_t **ids);

extern const nadir_format nadir_format_bmdp;
extern const nadir_format nadir_format_csv;
extern const nadir_format nadir_format_npz;
extern const nadir_format nadir_format_prism;
extern const nadir_format nadir_format_drn;
extern const nadir_format nadir_format_cassandra;
extern const nadir_format nadir_format_petsc;
extern const nadir_format nadir_format_umb;

/* Entry i of a row: its probability, or its interval in a model with a box. */
void nadir_probability_write(nadir_output *output, const nadir_model *model, int64_t row,
                             const nadir_row *entries, int64_t i, const char *comma);

/* As many actions as every state has; 0: they differ. */
int64_t nadir_model_common_actions(const nadir_model *model);

/* `path` with its ending replaced: "out.tra" and ".trew" give "out.trew". To be released. */
nadir_status nadir_sibling_path(nadir_context *context, const char *path, const char *ending, char **sibling);

/* Reads a file of logged data: a CSV table, or a NumPy array: records whose fields have the names of the columns,
 * or a plain array of shape (N, 3) or (N, 4) with state, action, next state and reward. path "-": standard input, as CSV. settings NULL: all zero. Wrong data are NADIR_ERROR_FORMAT
 * with file and line. On failure *data is empty; nadir_data_clear is legal in any case. */
nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data);

#endif
