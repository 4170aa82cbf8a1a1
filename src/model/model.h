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

#include <stdatomic.h>

/* A list of names, kept as one text. */

typedef struct nadir_names {
    int64_t count;
    size_t *offsets; /* [count] start of each name in `text` */
    char *text;      /* the names, each closed by a NUL */
    size_t text_used;
    size_t offsets_capacity;
    size_t text_capacity;
} nadir_names;

/* A struct of zeros is an empty list. Appends a name of `length` bytes (no NUL among them). */
nadir_status nadir_names_add(nadir_context *context, nadir_names *names, const char *name, size_t length);
const char *nadir_names_get(const nadir_names *names, int64_t index);
void nadir_names_clear(nadir_memory *memory, nadir_names *names);
/* Whether one of two different words may be the other misspelt: they differ by case, or by one letter (not a digit: names
 * are counted by them) that is missing, added, replaced or swapped with its neighbour, in words of four letters or more. */
bool nadir_names_alike(const char *name, const char *other);
/* A name that is like this word, which may have three letters, or NULL: for messages. */
const char *nadir_names_nearest(const nadir_names *names, const char *word);

/* From name to number in constant time, also for names that were chosen to make that hard: the places depend
 * on a number that nobody outside can know. A struct of zeros is an empty index; it refers to `names`, which
 * must only grow while the index lives. */
typedef struct nadir_name_index {
    int64_t *slots; /* [capacity] number + 1, 0: empty */
    size_t capacity;
    int64_t count;
    uint64_t secret;
} nadir_name_index;

/* Adds names[number] to the index; *existing is the earlier number of the same name, or -1. */
nadir_status nadir_name_index_add(nadir_context *context, nadir_name_index *index, const nadir_names *names,
                                  int64_t number, int64_t *existing);
/* The number of a name, or -1. */
int64_t nadir_name_index_find(const nadir_name_index *index, const nadir_names *names, const char *name,
                              size_t length);
void nadir_name_index_clear(nadir_context *context, nadir_name_index *index);

/* Words of a table's column in the order in which they first came. Whether they are names or numbers its first line says.
 * A struct of zeros has none yet. */
typedef struct nadir_words {
    int64_t first; /* line that decided; 0: none yet */
    bool named;
    bool closed; /* all names are known */
    nadir_names names;
    nadir_name_index index;
} nadir_words;

/* The number of a name, which is new unless it came before; -1: it did not, and all are known. */
nadir_status nadir_words_number(nadir_context *context, nadir_words *words, const char *name, size_t length,
                                int64_t *number);
void nadir_words_clear(nadir_context *context, nadir_words *words);

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
/* CSR rows become dense, for rewards of successors of probability 0, up to so many entries. */
#define NADIR_ZEROS_LIMIT 0x1p26

/* Rewards paid on landing as R(s, a) + g(s') + e(s, a, s'); see model/landing.h. All zero where rewards are
 * given for each row. */
typedef struct nadir_landing {
    bool general;         /* e is not zero */
    double *base;         /* [rows] R(s, a) */
    double *g;            /* [width]; NULL: zero everywhere */
    double e_low, e_high; /* of e over all transitions, rounded outward; 0 is between them */
    double shift;   /* mu . g / gamma: the return of shaped rewards less the return, but for the offset */
    double offset;  /* taken from all shaped rewards; returns and values are less by it over 1 - gamma */
    double slack;   /* by which returns may be off by rounding in all this */
    double each;    /* without a discount: in each step besides */
    double lowest;  /* of the rewards that are given */
    double highest; /* of the same */
    double longest; /* row, in stored transitions, of all processes */
    bool shifted;   /* rewards are shaped by g */
    bool unshaped;  /* the discount is next to 0: there is no g */
    bool lacking;   /* so that successors without a reward, of which there are some, have none */
} nadir_landing;

/* The range of weights of entries that are not 0: quotients of their squares stay finite. */
#define NADIR_WEIGHT_LEAST 1e-20
#define NADIR_WEIGHT_MOST  1e20

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
    double *lower, *upper;      /* [nonzeros] the box of CSR rows (model/box.h); NULL: there is none */
    double *weights;            /* [nonzeros] of the entries of CSR rows, 0 or more; NULL: all one */
    double *rewards;            /* means under the nominal kernel where they are paid on landing */
    double *transition_rewards; /* NaN: not given, in dense storage; NULL: rewards are those of rows */
    double *shaped;             /* [rows] what the library works with (model/landing.h); may be `rewards` */
    nadir_landing landing;
    nadir_unseen unseen;
    double unseen_value;
    bool pinned_zeros;  /* of pinned rows rewards of successors of probability 0 were given, and are lost */
    double zeros_error; /* by which those that R + g gives back, and that are not kept, are off at most */
    double *initial;
    double *scales;
    nadir_names state_names;
    nadir_names action_names;
    double *radius; /* [radius_count]: one, or one for each state or row, of all processes */
    int64_t radius_count;
    double norm;
    nadir_set set;
    nadir_domain domain;
    nadir_ball_promise promise; /* of a fitted ball */
    double confidence;
    double *unobserved; /* [rows] successors of at most this probability were never observed; or NULL */
    nadir_row_limits limits;
    /* Models without a discount (model/terminal.h); NULL, NULL and false for others. */
    bool *terminal;       /* [states] ends the process: its rows are empty and pinned */
    unsigned char *marks; /* [states] what was asked of states, while a model is read */
    bool collapsed;       /* states that do not lead to the goal end there */
    bool reaches;         /* the return is the probability to reach a goal */
    /* NULL: all states are this process's. Otherwise `states`, `rows` and all arrays are the part that it
     * owns, and columns are numbered as linalg/distributed.h says. */
    nadir_exchange *exchange;
    /* The rows on the device of an engine, made when first asked for (model/kernel_device.c); NULL: none. */
    _Atomic(void *) device_rows;
    const struct nadir_device *rows_device;
};

/* The largest number of actions in an own state. */
static inline int64_t nadir_model_most_actions(const nadir_model *model)
{
    int64_t most = 0;
    for (int64_t s = 0; s < model->states; s++) {
        const int64_t actions = model->state_rows[s + 1] - model->state_rows[s];
        most = actions > most ? actions : most;
    }
    return most;
}

/* Of all processes: S; the number of the first own state; the columns that own rows may have. */
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
/* Where the numbers came from, for messages. */
typedef struct nadir_source {
    const char *path;                   /* the file, or "model" when there is none; never NULL */
    const uint32_t *row_lines;          /* [rows] line where each row begins; NULL: unknown */
    const nadir_read_settings *reading; /* how a reader was asked to read; it makes model->shaped itself,
                                           once all of that is done. NULL: as the model says */
} nadir_source;

/* An empty model with one owner; discount and norm are NaN. */
nadir_status nadir_model_start(nadir_context *context, nadir_model **model);

/* Fills in everything but the kernel and rewards of transitions as another model, of one process, has it. */
nadir_status nadir_model_copy_frame(nadir_context *context, const nadir_model *model, nadir_model *made);
/* Names of states and actions (either may be empty) for a model that has none yet and nobody else uses. */
nadir_status nadir_model_add_names(nadir_context *context, const nadir_names *states,
                                   const nadir_names *actions, nadir_model *made);

/* Puts the filled-in arrays in order and checks them:
 * - columns rise within a row, duplicates are added up (rewards weighted by probability), zeros dropped;
 * - rows and mu are normalised, mu is uniform where it was NULL;
 * - transition rewards are averaged into `rewards`, and dropped if they say no more or if they are frozen;
 * - rewards of successors of probability 0 are kept, in dense storage, unless R + g gives them back;
 * - a dense kernel with few nonzeros becomes CSR, and so does one with a box;
 * - nominal rows of a box that are not given (NaN) are made, and all are checked against it.
 * On failure the model is still the caller's to free. */
nadir_status nadir_model_finish(nadir_context *context, nadir_model *model, const nadir_source *source);

/* The dense kernel of a model, whose rows have `width` entries each, as CSR: in place, and into `rows`, whose
 * arrays are the caller's to release. Zeros only where they have a reward. */
nadir_status nadir_model_to_sparse(nadir_context *context, nadir_model *model, int64_t width);
nadir_status nadir_model_list_rows(nadir_context *context, const nadir_model *model, int64_t width,
                                   nadir_model *rows);
/* The CSR kernel as a dense one. */
nadir_status nadir_model_to_dense(nadir_context *context, nadir_model *model);

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

/* Moves *place, the entry to look from, up to a state: true where the row has an entry for it. */
static inline bool nadir_row_seek(const nadir_row *row, int64_t state, int64_t *place)
{
    while (*place < row->count && nadir_row_column(row, *place) < state) {
        (*place)++;
    }
    return *place < row->count && nadir_row_column(row, *place) == state;
}

/* Whether no kernel changes a row. */
static inline bool nadir_model_is_pinned(const nadir_model *model, int64_t row)
{
    return model->scales != NULL && model->scales[row] == 0;
}

/* Of the rewards that are given: for transitions where these pay, else for rows. Those of this process. */
void nadir_model_reward_range(const nadir_model *model, double *low, double *high);

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

/* A state that is never left, whatever is done: all rows stay, reward 0, scale 0. */
bool nadir_model_is_end(const nadir_model *model, int64_t state);

/* A state without actions: such a state with one row. */
bool nadir_model_is_terminal(const nadir_model *model, int64_t state);

/* A state from which the nominal kernel never goes on, whatever it pays. */
bool nadir_model_is_absorbing(const nadir_model *model, int64_t state);

/* nadir_model_valid_radius with other scales: [rows], NULL: all one. */
nadir_status nadir_model_valid_radius_scaled(nadir_context *context, const nadir_model *model,
                                             const double *scales, double norm, double *radius);

/* "state 3 (kitchen)" or "state 3, action 1 (wait)" into text; returns text. */
#define NADIR_LABEL_LENGTH 192
const char *nadir_model_label(const nadir_model *model, int64_t state, int64_t row,
                              char text[NADIR_LABEL_LENGTH]);

/* What happened to sums while rows, or mu, were normalised. */
typedef struct nadir_sum_report {
    int64_t repaired; /* how many were off by more than NADIR_SUM_UNSAID */
    int64_t worst;    /* which was off the most */
    double worst_sum;
} nadir_sum_report;

/* Normalises values whose sum is off; `which` is how the report calls them. *sum is what they summed to;
 * false when that is farther from one than NADIR_SUM_TOLERANCE. */
bool nadir_normalise(int64_t count, double *values, int64_t which, nadir_sum_report *report, double *sum);

/* *stand: whether the kernel of `data` would come out of nadir_model_finish as it is, bits and storage; then
 * *nonzeros is how many transitions it has. Tells nothing of what is wrong otherwise. */
nadir_status nadir_rows_stand(nadir_context *context, const nadir_model_data *data, bool *stand,
                              int64_t *nonzeros);

/*
 * a model whose states are distributed over processes, in the making.
 *
 * A reader fills in the rows of the states [first, first + states) of S, with successors numbered over all
 * processes or as a dense array, [rows * S]. nadir_model_distribute makes them CSR and numbers successors anew,
 * own states first and then those of others (linalg/distributed.h).
 */

/* The states of a process: [first, end) of `total`, as many for each as for any other, give or take one; the
 * last ones have none where there are more processes than states. */
void nadir_model_own_states(const nadir_context *context, int64_t total, int64_t *first, int64_t *end);

/* Before nadir_model_finish. Every process calls at once. */
nadir_status nadir_model_distribute(nadir_context *context, nadir_model *model, const char *path,
                                    int64_t first, int64_t total);

#endif
