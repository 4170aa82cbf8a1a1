/*
 * model.h: the inside of a model, for the folders that build and read one.
 *
 * Making a model: nadir_model_start, fill in the arrays (each from nadir_allocate), nadir_model_finish. The
 * last puts rows in order, checks everything and names the first entry that is wrong. A finished model
 * never changes.
 */
#ifndef NADIR_MODEL_MODEL_H
#define NADIR_MODEL_MODEL_H

#include "core/context.h"
#include "linalg/distributed.h"
#include "model/model.h"

#include <stdatomic.h>

/* States, and actions of a state, are counted in 32 bits. */
#define NADIR_STATES_LIMIT INT32_MAX

/* Rows, policies and mu may be off by this much and are normalised. */
#define NADIR_SUM_TOLERANCE 1e-5
/* A sum this close to one is one up to rounding: such rows keep their bits. */
#define NADIR_SUM_ROUNDING (8 * 2.220446049250313e-16)
/* What is off by less is normalised without a word. */
#define NADIR_SUM_UNSAID 1e-12

/* What all rows keep to, made once. Rounding is included, but in the smallest entries. */
typedef struct nadir_row_limits {
    double sum_low, sum_high; /* of the sum of a row */
    double rounding;          /* of a product of a row with numbers up to one */
    double minimum;           /* the smallest of all entries, those that are not stored included */
    double *minima;           /* [rows] of each row of a dense kernel, owned; NULL: it is not dense */
} nadir_row_limits;

/* Storage follows density: CSR below the first, dense from the second on, as given in between. At 2/3 the
 * two take the same memory; dense arithmetic is some three times faster for each entry. */
#define NADIR_SPARSE_BELOW 0.25
#define NADIR_DENSE_FROM   0.5

/* Sizes and meaning as in nadir_model_data. */
struct nadir_model {
    atomic_size_t references;
    nadir_memory *memory;
    bool borrowed; /* dense, or columns and probabilities, are the caller's: never written to, nor freed */
    nadir_release_function release; /* gives them back; or NULL */
    void *release_user;
    int64_t states, rows, nonzeros;
    double discount;
    int64_t *state_rows;
    int32_t *row_actions;
    double *dense;
    int64_t *row_starts;
    int32_t *columns;
    double *probabilities;
    double *rewards;
    double *transition_rewards;
    double *initial;
    double *scales;
    nadir_names state_names;
    nadir_names action_names;
    double *radius; /* [radius_count]: one, or one for each state or row, of all processes */
    int64_t radius_count;
    double norm;
    nadir_set set;
    nadir_domain domain;
    nadir_row_limits limits;
    /* NULL: all states are this process's. Otherwise `states`, `rows` and all arrays are the part that it
     * owns, and columns are numbered as exchange.h says. */
    nadir_exchange *exchange;
    /* The rows on the device of an engine, made when first asked for (model/kernel_device.c); NULL: none. */
    _Atomic(void *) device_rows;
    const struct nadir_device *rows_device;
};

/* Of all processes: S; the number of the first own state; the columns that own rows may have; the own states
 * of the process that has most. */
static inline int64_t nadir_model_total(const nadir_model *model)
{
    return model->exchange != NULL ? model->exchange->total : model->states;
}
static inline int64_t nadir_model_first(const nadir_model *model)
{
    return model->exchange != NULL ? model->exchange->first : 0;
}
static inline int64_t nadir_model_width(const nadir_model *model)
{
    return model->exchange != NULL ? model->states + model->exchange->ghosts : model->states;
}
static inline int64_t nadir_model_share(const nadir_model *model)
{
    return model->exchange != NULL ? model->exchange->largest : model->states;
}

/* Where the numbers came from, for messages. */
typedef struct nadir_source {
    const char *path;          /* the file, or "model" when there is none; never NULL */
    const uint32_t *row_lines; /* [rows] line where each row begins; NULL: unknown */
    bool keep_transition_rewards;
} nadir_source;

/* An empty model with one owner; discount and norm are NaN. */
nadir_status nadir_model_start(nadir_context *context, nadir_model **model);

/* Puts the filled-in arrays in order and checks them:
 * - columns rise within a row, duplicates are added up (rewards weighted by probability), zeros dropped;
 * - rows and mu are normalised, mu is uniform where it was NULL;
 * - transition rewards are averaged into `rewards` and then dropped unless the source says to keep them;
 * - a dense kernel with few nonzeros becomes CSR.
 * On failure the model is still the caller's to free. */
nadir_status nadir_model_finish(nadir_context *context, nadir_model *model, const nadir_source *source);

/* The dense kernel of a model, whose rows have `width` entries each, as CSR. */
nadir_status nadir_model_to_sparse(nadir_context *context, nadir_model *model, int64_t width);

/* Whether a kernel of so many nonzeros stays as it is stored. */
bool nadir_storage_suits(bool dense, int64_t states, int64_t rows, int64_t nonzeros);

/* Apart from nadir_model_finish, since a reader's settings may override what the file says. */
nadir_status nadir_model_check_discount(nadir_context *context, const nadir_model *model, const char *path);

/* Row `row` as (columns, values): for CSR the stored arrays, for dense NULL columns and all S values. */
typedef struct nadir_row {
    int64_t count;
    const int32_t *columns; /* NULL: 0, 1, ..., count - 1 */
    const double *values;
    const double *rewards; /* of the transitions, or NULL */
} nadir_row;

nadir_row nadir_model_row(const nadir_model *model, int64_t row);

/* The successor of entry i of a row. */
static inline int64_t nadir_row_column(const nadir_row *row, int64_t i)
{
    return row->columns != NULL ? row->columns[i] : i;
}

/* NADIR_ERROR_UNSUPPORTED for a model that is distributed over processes: `what` is not there for them
 * yet. */
nadir_status nadir_model_check_one_process(nadir_context *context, const nadir_model *model,
                                           const char *what);

/* The smallest of all S probabilities of a row. */
double nadir_model_row_minimum(const nadir_model *model, int64_t row);

/* The state a row belongs to. O(log S). */
int64_t nadir_model_row_state(const nadir_model *model, int64_t row);

/* The action number of a row. */
int64_t nadir_model_row_action(const nadir_model *model, int64_t state, int64_t row);

/* The row of (state, action number), or -1. */
int64_t nadir_model_find_row(const nadir_model *model, int64_t state, int64_t action);

/* A state without actions: one row that stays, reward 0, scale 0. */
bool nadir_model_is_terminal(const nadir_model *model, int64_t state);

/* nadir_model_valid_radius with other scales: [rows], NULL: all one. */
nadir_status nadir_model_valid_radius_scaled(nadir_context *context, const nadir_model *model,
                                             const double *scales, double norm, double *radius);

/* "state 3 (kitchen)" or "state 3, action 1 (wait)" into text; returns text. */
#define NADIR_LABEL_LENGTH 192
const char *nadir_model_label(const nadir_model *model, int64_t state, int64_t row,
                              char text[NADIR_LABEL_LENGTH]);

#endif
