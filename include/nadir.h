/*
 * nadir.h: robust Markov decision processes.
 *
 * A Markov decision process has S states; each state s has its own list of actions; each pair (s, a) is
 * one *row*: a probability distribution P(.|s, a) over successor states and a reward R(s, a). Rows are
 * numbered state after state, so the rows of state s are state_rows[s] .. state_rows[s + 1] - 1.
 *
 * Sections: status, context, engine, model, policy, files, generators, nominal solution, robust evaluation,
 * robust policy, uncertain rewards, unions, from data to a ball, verification, report, methods by name, the norm over the nonnegative cone.
 *
 * Everything that can fail returns a nadir_status, and nadir_context_error explains the failure. Outputs come
 * last. Handles are opaque and freed by the function that bears their name; freeing NULL is legal. Settings,
 * facts and results are plain structs whose first member is their size, so that they can grow: fill them with
 * the matching ..._default function, then change what you need. (It calls ..._fill with the size that your
 * compiler saw, so that a newer library does not write past the end of an older struct.)
 *
 * Threads: a context belongs to one thread at a time. Models and policies never change and may be shared by
 * any number of threads and contexts. The library has no global state.
 */
#ifndef NADIR_H
#define NADIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NADIR_VERSION_MAJOR 0
#define NADIR_VERSION_MINOR 1
#define NADIR_VERSION_PATCH 0

#if defined(__GNUC__)
#define NADIR_API __attribute__((visibility("default")))
#else
#define NADIR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "MAJOR.MINOR.PATCH" of the library that is running. */
NADIR_API const char *nadir_version(void);

/* ---------------------------------------------------------------------------------------------------------
 * Status
 *
 * X(name, code, sentence). A code divided by ten is the exit status of the nadir command.
 */
#define NADIR_STATUS_LIST(X)                                                                                 \
    X(NADIR_OK, 0, "done")                                                                                   \
    X(NADIR_ERROR_ARGUMENT, 20, "an argument is outside its documented range")                               \
    X(NADIR_ERROR_UNSUPPORTED, 21, "this combination of settings is not supported")                          \
    X(NADIR_ERROR_FILE, 30, "the file cannot be opened or is not a regular file")                            \
    X(NADIR_ERROR_FORMAT, 31, "the file does not follow its format")                                         \
    X(NADIR_ERROR_MODEL, 32, "the model is not a Markov decision process")                                   \
    X(NADIR_ERROR_POLICY, 33, "the policy does not fit the model")                                           \
    X(NADIR_ERROR_ILL_POSED, 40, "the request has no finite answer")                                         \
    X(NADIR_ERROR_NOT_CONVERGED, 50, "the limits were reached before the answer")                            \
    X(NADIR_ERROR_MEMORY, 60, "out of memory")                                                               \
    X(NADIR_ERROR_IO, 61, "reading or writing failed")                                                       \
    X(NADIR_ERROR_INTERRUPTED, 70, "interrupted")                                                            \
    X(NADIR_ERROR_VERIFICATION, 80, "the verification failed")

typedef enum nadir_status {
#define NADIR_STATUS_ENUM(name, code, sentence) name = (code),
    NADIR_STATUS_LIST(NADIR_STATUS_ENUM)
#undef NADIR_STATUS_ENUM
} nadir_status;

/* "NADIR_ERROR_FILE" and the like; never NULL. */
NADIR_API const char *nadir_status_name(nadir_status status);

/* Its sentence in the list above; never NULL. */
NADIR_API const char *nadir_status_sentence(nadir_status status);

/* ---------------------------------------------------------------------------------------------------------
 * Context: memory, messages, progress, randomness, threads
 */
typedef struct nadir_context nadir_context;

typedef enum nadir_log_level {
    NADIR_LOG_WARNING = 1, /* something was repaired or ignored, or is doubtful */
    NADIR_LOG_NOTICE = 2,  /* what was assumed */
    NADIR_LOG_DEBUG = 3
} nadir_log_level;

/* One message, without a newline. */
typedef void (*nadir_log_function)(void *user, nadir_log_level level, const char *message);

/* Called during long work with the share done, 0 to 1 (negative: unknown): of the task, or, where many radii are asked
 * for, of all of them. A nonzero return stops the running
 * call, which then returns NADIR_ERROR_INTERRUPTED. */
typedef int (*nadir_progress_function)(void *user, const char *task, double share);

/* malloc, realloc and free of the caller: all three, or none. They must outlive everything made with the
 * context, and are called by the thread that makes or frees it. */
typedef struct nadir_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void *(*reallocate)(void *user, void *pointer, size_t bytes);
    void (*release)(void *user, void *pointer);
    void *user;
} nadir_allocator;

typedef struct nadir_context_settings {
    size_t size;
    nadir_allocator allocator; /* zeros: malloc, realloc, free */
    size_t memory_limit;       /* bytes in use at once. Default: the machine's memory */
    nadir_log_function log;    /* NULL: silent */
    void *log_user;
    nadir_progress_function progress; /* NULL: none */
    void *progress_user;
    uint64_t seed;   /* of the random stream; default 0 */
    int32_t threads; /* 0 (default): one for each processor this process may use */
} nadir_context_settings;

NADIR_API void nadir_context_settings_fill(nadir_context_settings *settings, size_t size);
static inline void nadir_context_settings_default(nadir_context_settings *settings)
{
    nadir_context_settings_fill(settings, sizeof *settings);
}

/* settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_context_create(const nadir_context_settings *settings, nadir_context **context);
NADIR_API void nadir_context_free(nadir_context *context);

/* Why the last failed call failed: file, line, state, action, what was expected. Empty if none failed. Valid
 * until the next call with this context. */
NADIR_API const char *nadir_context_error(const nadir_context *context);

/* The number of threads in use. */
NADIR_API int32_t nadir_context_threads(const nadir_context *context);

/* Bytes in use by this context and everything made with it: now, and at most so far. */
NADIR_API size_t nadir_context_memory(const nadir_context *context);
NADIR_API size_t nadir_context_memory_peak(const nadir_context *context);

/* ---------------------------------------------------------------------------------------------------------
 * Engine: many processes, or a device
 *
 * "petsc" distributes models over several processes. Each runs the same program and makes the same calls;
 * each holds the rows of its own states of every model that is read after the engine was opened; all get the
 * same answers. NADIR_ERROR_UNSUPPORTED: not available with this engine.
 *
 * "cuda" brings an NVIDIA GPU to one process. Models are whole, and results are as without it; averages over
 * policies, linear systems and linear minimisation run there. NADIR_ERROR_MEMORY, with the sizes, when the
 * device has too little memory. Models and solvers made with it are used with contexts that have it open, by
 * one thread at a time.
 */
typedef struct nadir_engine nadir_engine;

/* Loads "petsc" (MPI; once in a process) or "cuda". It stays loaded. options: the engine's own (those of
 * PETSc), NULL: none. share_threads: the context's threads are divided among the processes of this machine.
 * The context must outlive the engine. */
NADIR_API nadir_status nadir_engine_open(nadir_context *context, const char *name, const char *options,
                                         bool share_threads, nadir_engine **engine);
/* The number of this process, from 0, and how many there are. */
NADIR_API int32_t nadir_engine_rank(const nadir_engine *engine);
NADIR_API int32_t nadir_engine_members(const nadir_engine *engine);

/* The last call of a process that is about to exit with this status, after all models are freed. If the
 * status is not 0 and the other processes do not call this too within a few seconds, all processes are ended,
 * and `sentence` is written to stderr ("" or NULL: nothing). */
NADIR_API void nadir_engine_close(nadir_engine *engine, int exit_status, const char *sentence);

/* ---------------------------------------------------------------------------------------------------------
 * Model
 */
typedef struct nadir_model nadir_model;

typedef enum nadir_set { NADIR_SET_UNSAID = 0, NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA } nadir_set;
typedef enum nadir_domain {
    NADIR_DOMAIN_UNSAID = 0,
    NADIR_DOMAIN_SIMPLEX, /* P >= 0 */
    NADIR_DOMAIN_SUPPORT, /* P >= 0, and no successor that the nominal kernel does not have */
    NADIR_DOMAIN_FREE,    /* rows sum to one, entries of any sign: the set as the paper defines it */
    NADIR_DOMAIN_BOX      /* the intervals of the model, l <= P <= u */
} nadir_domain;

/*
 * Rewards of single transitions, r(s, a, s'), are paid where one lands: a kernel that moves probability moves
 * what is paid. Worst kernels may reach successors that the model gives no reward for; they pay
 */
typedef enum nadir_unseen {
    NADIR_UNSEEN_ADDITIVE =
        0,             /* R(s, a) + g(s'): least squares fit to the rewards that are given, weighted by
                                  probability; exact where rewards belong to rows and to states */
    NADIR_UNSEEN_ROW,  /* the mean of the row */
    NADIR_UNSEEN_MIN,  /* the smallest reward of the model */
    NADIR_UNSEEN_VALUE /* a given number */
} nadir_unseen;

/* What the ball of a fitted model is for. */
typedef enum nadir_ball_promise {
    NADIR_BALL_UNSAID = 0,
    NADIR_BALL_OF_KERNEL, /* it holds the true kernel with the confidence */
    NADIR_BALL_OF_RETURN /* its worst return is the guarantee of one policy; it does not hold the true kernel */
} nadir_ball_promise;

/* The names used in files and options: "nonrect", "s", "sa"; "simplex", "support", "free", "box"; "" if unsaid. */
NADIR_API const char *nadir_set_name(nadir_set set);
NADIR_API const char *nadir_domain_name(nadir_domain domain);
/* "kernel", "return"; "" if unsaid. */
NADIR_API const char *nadir_ball_promise_name(nadir_ball_promise promise);
/* "additive", "row", "min", "value" */
NADIR_API const char *nadir_unseen_name(nadir_unseen unseen);

/*
 * The numbers of a model: input of nadir_model_create, output of nadir_model_view. Exactly one of `dense` and
 * (`row_starts`, `columns`, `probabilities`) is not NULL.
 */
typedef struct nadir_model_data {
    size_t size;
    int64_t states;              /* S, 1 or more and below 2^31 */
    int64_t rows;                /* the number of pairs (s, a) */
    int64_t nonzeros;            /* output: the number of transitions of positive probability */
    double discount;             /* gamma in [0, 1), or 1 for a horizon; NaN: not known */
    const int64_t *state_rows;   /* [states + 1] first row of each state; every state has at least one row */
    const int32_t *row_actions;  /* [rows] action numbers, rising within a state; NULL: 0, 1, 2, ... */
    const double *dense;         /* [rows * states] probabilities, row after row */
    const int64_t *row_starts;   /* [rows + 1] first transition of each row */
    const int32_t *columns;      /* [nonzeros] successors; output: rising within a row */
    const double *probabilities; /* [nonzeros] output: positive */
    const double *rewards;       /* [rows]; NULL: none known */
    /* [nonzeros] or, with dense, [rows * states]; NULL: rewards are those of rows. NaN: not given, where the
       probability is 0. Where given, they are paid on landing, and `rewards` are their means */
    const double *transition_rewards;
    const double *initial;           /* [states] mu; input NULL: uniform; output never NULL */
    const double *scales;            /* [rows] alpha >= 0, 0 pins a row; NULL: all one */
    const char *const *state_names;  /* [states]; NULL: none. Output: use nadir_model_state_name */
    const char *const *action_names; /* [action_names_count] by action number; NULL: none */
    int64_t action_names_count;
    const double *radius; /* [radius_count] default of --radius: one, one per state or one per row; or NULL */
    int64_t radius_count;
    double norm; /* default of --norm; NaN: unsaid */
    nadir_set set;
    nadir_domain domain;
    nadir_unseen unseen; /* of transition_rewards */
    double unseen_value; /* for NADIR_UNSEEN_VALUE */
    bool
        frozen_rewards; /* input: transition_rewards are averaged into their row, as in nadir_read_settings */
    bool total;         /* input: with a discount of 1, as in nadir_read_settings */
    nadir_ball_promise promise; /* of a fitted ball */
    double confidence;          /* of the promise; NaN: unsaid */
    /* [rows] of a fitted model: successors of at most this probability were never observed; NULL: unsaid */
    const double *unobserved;
    /* The box, l <= P <= u: as probabilities or dense, both or neither. Successors of u = 0 are none. The nominal
       kernel lies in it; a row of NaN becomes the point of its box nearest to the middle that sums to one. Output:
       NULL, or [nonzeros] */
    const double *lower, *upper;
    /* input: [states] which ones are meant, as the members of nadir_read_settings that are called so; NULL: not asked.
       `discount` is 1 then, or NaN */
    const bool *goal, *avoid, *until;
    /* How uncertain each entry is (nadir_ball): as probabilities or dense, 0, which pins the entry, or 1e-20 to 1e20. Output:
       NULL, or [nonzeros] */
    const double *weights;
} nadir_model_data;

NADIR_API void nadir_model_data_fill(nadir_model_data *data, size_t size);
static inline void nadir_model_data_default(nadir_model_data *data)
{
    nadir_model_data_fill(data, sizeof *data);
}

/*
 * Copies the arrays of `data` and checks them. Rows, and `initial`, that sum to one within 1e-5 are
 * normalised (rows that are off by rounding only keep their bits); duplicate transitions of a row add up;
 * zeros are dropped; `transition_rewards`, where given, replace `rewards` by their mean over each row; those
 * of duplicates are averaged by probability. Rewards of zeros count, unless R(s, a) + g(s') gives them back
 * (NADIR_UNSEEN_ADDITIVE): a model with others is dense; above 2^26 pairs of a row and a state they are not
 * used, with a warning.
 * Anything else wrong is NADIR_ERROR_MODEL, and the error names state and action.
 */
NADIR_API nadir_status nadir_model_create(nadir_context *context, const nadir_model_data *data,
                                          nadir_model **model);

/* Called when borrowed arrays are no longer needed. */
typedef void (*nadir_release_function)(void *user);

/*
 * The same model, to the bit, without a copy of the kernel: `dense`, or `columns` and `probabilities`, must
 * neither change nor be freed until release(user) is called, by the thread that frees the model last (solvers
 * are owners, too). All other arrays are copied. The kernel is copied after all, and release called before
 * the return, if its rows have to be normalised (sums off by more than rounding), sorted, merged or stripped
 * of zeros, or if its density calls for the other storage: a dense kernel less than a quarter full, a sparse
 * one at least half full. If the call fails, release is not called. release may be NULL.
 */
NADIR_API nadir_status nadir_model_borrow(nadir_context *context, const nadir_model_data *data,
                                          nadir_release_function release, void *user, nadir_model **model);

/* Another owner of the same model; each owner calls nadir_model_free once. */
NADIR_API nadir_model *nadir_model_retain(nadir_model *model);
NADIR_API void nadir_model_free(nadir_model *model);

/* The numbers inside, valid as long as the model is. data->size must be set (nadir_model_data_default). */
NADIR_API void nadir_model_view(const nadir_model *model, nadir_model_data *data);

/* The numbers of states, rows and transitions over all processes of an engine; nadir_model_view gives those
 * of this process. Every process makes the call. */
NADIR_API nadir_status nadir_model_totals(nadir_context *context, const nadir_model *model, int64_t *states,
                                          int64_t *rows, int64_t *nonzeros);

/* Names as given by the file; NULL when it gave none. */
NADIR_API const char *nadir_model_state_name(const nadir_model *model, int64_t state);
NADIR_API const char *nadir_model_action_name(const nadir_model *model, int64_t row);

/* How rewards are paid. */
typedef enum nadir_reward_kind {
    NADIR_REWARDS_NONE = 0,
    NADIR_REWARDS_ROW,       /* for each row: whatever the successor is */
    NADIR_REWARDS_SEPARABLE, /* on landing, as R(s, a) + g(s') */
    NADIR_REWARDS_LANDING    /* on landing */
} nadir_reward_kind;
/* "none", "row", "separable", "landing" */
NADIR_API const char *nadir_reward_kind_name(nadir_reward_kind kind);
/* How a model pays. *unseen: what it takes successors without a reward to pay, where rewards are paid on landing;
 * *unseen_value: that number for NADIR_UNSEEN_MIN and NADIR_UNSEEN_VALUE, else NaN. */
NADIR_API nadir_reward_kind nadir_model_rewards(const nadir_model *model, nadir_unseen *unseen,
                                                double *unseen_value);
/* How far the fit of NADIR_UNSEEN_ADDITIVE is from a reward that is given, at most; 0 where it is not used, or exact. */
NADIR_API double nadir_model_unseen_error(const nadir_model *model);

/* Facts about a model that need no solve. */
typedef struct nadir_model_facts {
    size_t size;
    int64_t states, rows, nonzeros;
    int64_t actions_min, actions_max; /* over states */
    double density;                   /* nonzeros / (rows * states) */
    double reward_min, reward_max;    /* of rows, or of transitions where they pay; NaN: no rewards */
    double discount;                  /* NaN: unknown */
    double valid_radius;              /* nadir_model_valid_radius at norm 2 */
    int64_t terminal_states;          /* all rows pinned, stay and pay nothing */
    int64_t absorbing_states;         /* stay for ever under every action; includes terminal ones */
    int64_t unreachable_states;       /* no policy reaches them from the initial distribution */
    int64_t pinned_rows;              /* rows of scale 0 */
    int64_t bytes;                    /* memory of its numbers */
    nadir_reward_kind reward_kind;
    nadir_unseen unseen; /* of rewards paid on landing */
    double unseen_value; /* what successors without a reward pay, for NADIR_UNSEEN_MIN and _VALUE; else NaN */
} nadir_model_facts;

NADIR_API void nadir_model_facts_fill(nadir_model_facts *facts, size_t size);
static inline void nadir_model_facts_default(nadir_model_facts *facts)
{
    nadir_model_facts_fill(facts, sizeof *facts);
}

/* facts->size must be set (nadir_model_facts_default). */
NADIR_API nadir_status nadir_model_facts_compute(nadir_context *context, const nadir_model *model,
                                                 nadir_model_facts *facts);

/* The largest radius whose non-rectangular L_p ball, p = norm in [1, infinity], has no kernel with a negative
 * entry. Zero if a row that is not pinned has a zero; infinity if no row can change. */
NADIR_API nadir_status nadir_model_valid_radius(nadir_context *context, const nadir_model *model, double norm,
                                                double *radius);

/* SHA-256 of the numbers of the model, as 64 hexadecimal digits. Names, file format and storage do not
 * matter. */
NADIR_API nadir_status nadir_model_digest(nadir_context *context, const nadir_model *model, char digest[65]);

/* ---------------------------------------------------------------------------------------------------------
 * Policy: the probability of each row of a model, given its state
 */
typedef struct nadir_policy nadir_policy;

/* probabilities: [rows]; those of a state sum to one within 1e-5 and are normalised. Copied. */
NADIR_API nadir_status nadir_policy_create(nadir_context *context, const nadir_model *model,
                                           const double *probabilities, nadir_policy **policy);
/* The same probability for every action of a state. */
NADIR_API nadir_status nadir_policy_create_uniform(nadir_context *context, const nadir_model *model,
                                                   nadir_policy **policy);
/* actions: [states] action numbers. */
NADIR_API nadir_status nadir_policy_create_deterministic(nadir_context *context, const nadir_model *model,
                                                         const int64_t *actions, nadir_policy **policy);
NADIR_API void nadir_policy_free(nadir_policy *policy);
/* [rows], valid as long as the policy is. */
NADIR_API const double *nadir_policy_probabilities(const nadir_policy *policy);
/* SHA-256 of the probabilities, as 64 hexadecimal digits. */
NADIR_API nadir_status nadir_policy_digest(nadir_context *context, const nadir_policy *policy,
                                           char digest[65]);

/* ---------------------------------------------------------------------------------------------------------
 * Files
 *
 * The format of a model file is recognised by its content, then by its ending; see docs/formats.md. Files
 * are written whole or not at all.
 */
typedef enum nadir_layout {
    NADIR_LAYOUT_AUTO = 0, /* by shape; an error if both fit */
    NADIR_LAYOUT_SAS,      /* P[s, a, s'] */
    NADIR_LAYOUT_ASS       /* P[a, s, s'] */
} nadir_layout;

typedef struct nadir_read_settings {
    size_t size;
    const char *rewards;      /* companion file with rewards (PRISM .trew or .srew, PETSc g.bin) */
    const char *labels;       /* companion file with labels (PRISM .lab): `init` gives mu */
    const char *reward_model; /* the reward model to take from a Storm file */
    const char *initial;      /* "uniform", a state's number or name, or a file; NULL: the model's own */
    double discount;          /* gives or overrides gamma; NaN: the file's. 1: for a horizon alone */
    bool costs;               /* rewards are costs: negate them */
    nadir_layout layout;      /* of a dense NumPy kernel */
    bool frozen_rewards;      /* rewards of transitions are averaged into their row under the nominal kernel,
                                     and paid whatever the successor is: the paper's reading */
    nadir_unseen unseen;
    double unseen_value; /* for NADIR_UNSEEN_VALUE; a cost where rewards are costs */
    /* Without a discount, which these set to 1: labels of the file (PRISM, Storm), or numbers and names of
     * states with commas between them; NULL: not asked. */
    const char *goal;  /* the return becomes the probability to reach one of these states, */
    const char *avoid; /* before any of these */
    const char *until; /* rewards are paid until one of these is reached */
    bool total;        /* a discount of 1 asks for the total reward until a state that stays without reward;
                          false: for a finite horizon alone */
    /* A file of transitions: what the rows that it mentions may reach, their own successors among it. The model has the
     * new ones with the probability 1e-300, and domain support, if the file says no other. NULL: not asked */
    const char *successors;
    /* of a CSV table with a column `idoutcome`, which holds several models: the number of one, or "mean": the mean of all,
     * each with the same weight. NULL: not asked */
    const char *outcome;
} nadir_read_settings;

NADIR_API void nadir_read_settings_fill(nadir_read_settings *settings, size_t size);
static inline void nadir_read_settings_default(nadir_read_settings *settings)
{
    nadir_read_settings_fill(settings, sizeof *settings);
}

/* settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_model_read(nadir_context *context, const char *path,
                                        const nadir_read_settings *settings, nadir_model **model);

/* The name of the format of a file ("csv", "npz", "prism", "drn", "umb", "bmdp", "cassandra", "petsc"). */
NADIR_API nadir_status nadir_file_format(nadir_context *context, const char *path, const char **name);

/* The name of the format in which a model would be written to this path, by its ending.
 * NADIR_ERROR_UNSUPPORTED: no format has this ending. */
NADIR_API nadir_status nadir_write_format(nadir_context *context, const char *path, const char **name);

/* SHA-256 of a file's bytes, as 64 hexadecimal digits. */
NADIR_API nadir_status nadir_file_digest(nadir_context *context, const char *path, char digest[65]);

typedef struct nadir_write_settings {
    size_t size;
    bool compress; /* npz: deflate the arrays (default: store them); other formats refuse it */
} nadir_write_settings;

NADIR_API void nadir_write_settings_fill(nadir_write_settings *settings, size_t size);
static inline void nadir_write_settings_default(nadir_write_settings *settings)
{
    nadir_write_settings_fill(settings, sizeof *settings);
}

/* The ending of `path` chooses the format. One warning lists what the format cannot store.
 * NADIR_ERROR_UNSUPPORTED: it cannot store this model at all. settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_model_write(nadir_context *context, const nadir_model *model, const char *path,
                                         const nadir_write_settings *settings);

/* CSV `idstate,idaction,probability`, or .npy: (S, A) probabilities, S action numbers, or one probability
 * per row. Where the model has names, those in the columns state_name and action_name count, not the numbers. */
NADIR_API nadir_status nadir_policy_read(nadir_context *context, const nadir_model *model, const char *path,
                                         nadir_policy **policy);
/* The same; columns: "state=NAME,action=NAME,...", as in nadir_fit_settings: a CSV file may call them so, too.
 * NULL: as above. */
NADIR_API nadir_status nadir_policy_read_columns(nadir_context *context, const nadir_model *model,
                                                 const char *path, const char *columns,
                                                 nadir_policy **policy);
NADIR_API nadir_status nadir_policy_write(nadir_context *context, const nadir_model *model,
                                          const nadir_policy *policy, const char *path);
/* Policies by time step: .npy (H, S, A), or (H, rows). A file with one policy will do, for all steps: *count is then 1,
 * and otherwise the horizon. policies: [horizon], the caller's to free; all NULL on failure. */
NADIR_API nadir_status nadir_policy_read_steps(nadir_context *context, const nadir_model *model,
                                               const char *path, int64_t horizon, nadir_policy **policies,
                                               int64_t *count);
/* path must end in .npy. */
NADIR_API nadir_status nadir_policy_write_steps(nadir_context *context, const nadir_model *model,
                                                int64_t count, const nadir_policy *const *policies,
                                                const char *path);

/* Writes 15, 16 or 17 digits, the fewest that read back to the same double, independently of the locale.
 * Returns the length. */
NADIR_API int nadir_format_double(double value, char text[32]);

/* ---------------------------------------------------------------------------------------------------------
 * Generators of standard instances; see docs/generators.md
 *
 * The meaning of a member depends on the kind: nadir_generator lists those that a kind uses, with their
 * defaults. The others must be left unset: 0 for whole numbers, NaN for doubles. The seed may always be set;
 * random kinds use it, and the same seed gives the same bits on every platform.
 */
typedef struct nadir_generate_settings {
    size_t size;
    int64_t states;
    int64_t actions;
    int64_t branch; /* successors of each row */
    int64_t width;
    int64_t height;
    double slip;     /* probability that an action fails */
    double discount; /* gamma in [0, 1), used by every kind; outside: NADIR_ERROR_ILL_POSED */
    uint64_t seed;
    int64_t capacity;    /* largest stock */
    int64_t demand;      /* largest demand of a period */
    double reward;       /* of the best state */
    double small_reward; /* of the state that is easy to reach */
    double price;        /* earned for each unit sold */
    double unit_cost;    /* paid for each unit ordered */
    double setup_cost;   /* paid for each order, whatever its size */
    double holding_cost; /* paid for each unit in stock and each period */
} nadir_generate_settings;

NADIR_API void nadir_generate_settings_fill(nadir_generate_settings *settings, size_t size);
static inline void nadir_generate_settings_default(nadir_generate_settings *settings)
{
    nadir_generate_settings_fill(settings, sizeof *settings);
}

/* Sets a member by its name, with '-' for '_'; not the seed, which has 64 bits. NADIR_ERROR_ARGUMENT: there
 * is no such member, or no kind takes this value. */
NADIR_API nadir_status nadir_generate_settings_set(nadir_context *context, nadir_generate_settings *settings,
                                                   const char *name, double value);

/* kind: "random", "garnet", "riverswim", "machine", "inventory", "forest", "gridworld". NADIR_ERROR_ARGUMENT:
 * the kind does not use a setting, or it is out of range. settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_model_generate(nadir_context *context, const char *kind,
                                            const nadir_generate_settings *settings, nadir_model **model);

/* A setting as one kind uses it. */
typedef struct nadir_generator_setting {
    const char *name; /* as for nadir_generate_settings_set */
    const char *meaning;
    double standard; /* default; NaN: depends on the others, see `meaning` */
    double lowest;   /* range, ends included; -infinity to infinity: any finite number */
    double highest;
} nadir_generator_setting;

typedef struct nadir_generator_facts {
    const char *name;
    const char *summary; /* half a line */
    const char *source;  /* publication */
    bool random;         /* depends on the seed */
    double discount;     /* default */
    int64_t settings_count;
    const nadir_generator_setting *settings; /* [settings_count] besides discount and seed */
} nadir_generator_facts;

/* The kinds, index = 0, 1, ...; NULL past the last. */
NADIR_API const nadir_generator_facts *nadir_generator(int64_t index);

/* ---------------------------------------------------------------------------------------------------------
 * Nominal solution: the return of a policy on the nominal kernel, and the best policy for it
 *
 * The model must have a discount and rewards (NADIR_ERROR_MODEL otherwise). Results come with bounds,
 * lower_bound <= exact value <= upper_bound, that include all rounding.
 *
 * Backends solve the linear systems: "lapack" (dense LU), "klu" (sparse LU), "krylov" (iterative, little
 * memory), those of engines; "auto" chooses by size and sparsity.
 */
typedef struct nadir_solver nadir_solver;

typedef struct nadir_solver_settings {
    size_t size;
    const char *backend; /* NULL: auto */
    double tolerance;    /* of iterative backends, relative to the largest entry of the solution;
                            default 1e-12 */
} nadir_solver_settings;

NADIR_API void nadir_solver_settings_fill(nadir_solver_settings *settings, size_t size);
static inline void nadir_solver_settings_default(nadir_solver_settings *settings)
{
    nadir_solver_settings_fill(settings, sizeof *settings);
}

/* Factors the system of one policy, once for all calls below. Retains the model and copies the policy.
 * settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_solver_create(nadir_context *context, nadir_model *model,
                                           const nadir_policy *policy, const nadir_solver_settings *settings,
                                           nadir_solver **solver);
NADIR_API void nadir_solver_free(nadir_solver *solver);

typedef struct nadir_nominal {
    size_t size;
    double nominal_return; /* J = mu . v */
    double lower_bound, upper_bound;
    bool certified;           /* the bounds, computed from the rows of the kernel and not by the solver, are
                                 within 1e-6 of the largest value */
    double residual;          /* max over s of |R^pi + gamma P^pi v - v|, rounding included */
    double return_difference; /* |mu . v - d . R^pi|: 0 without rounding */
    double kernel_minimum;    /* smallest entry of the kernel */
    const char *backend;
    int64_t solves;        /* right-hand sides so far */
    int64_t iterations;    /* of iterative backends: products with the kernel or its transpose so far */
    int64_t memory;        /* bytes that the backend holds */
    double seconds_factor; /* averaging over the policy and factoring */
    double seconds_solve;
    double seconds_check;
    double duration; /* without a discount: expected number of steps to the end; otherwise NaN */
} nadir_nominal;

/* result->size must be set: nadir_nominal result = {.size = sizeof result}. Solves once; later calls return
 * the same. `context` is the one that the solver was created with, here and below. */
NADIR_API nadir_status nadir_solver_nominal(nadir_context *context, nadir_solver *solver,
                                            nadir_nominal *result);

/* Copies of the nominal solution, which is computed first if need be: the value v: [states], the occupancy
 * d(s) = sum over t of gamma^t Prob(s_t = s): [states], and Q(s, a) = R + gamma P v: [rows]. */
NADIR_API nadir_status nadir_solver_value(nadir_context *context, nadir_solver *solver, double *value);
NADIR_API nadir_status nadir_solver_occupancy(nadir_context *context, nadir_solver *solver,
                                              double *occupancy);
NADIR_API nadir_status nadir_solver_q(nadir_context *context, nadir_solver *solver, double *q);

/* Nominal returns of many policies: returns[i] = mu . v of policy i; errors[i] bounds its error, rounding
 * included (infinity: no bound). probabilities: [count * rows], policy after policy, each checked and
 * normalised as by nadir_policy_create; NADIR_ERROR_POLICY names policy, state and action of the first wrong
 * one, before anything is solved. returns: [count]; errors: [count], or NULL; both are undefined after a
 * failure. settings may be NULL for the defaults. Threads share the policies of small models; a device
 * evaluates those of models up to 512 states thousands at a time. */
NADIR_API nadir_status nadir_returns(nadir_context *context, nadir_model *model, int64_t count,
                                     const double *probabilities, const nadir_solver_settings *settings,
                                     double *returns, double *errors);

typedef struct nadir_optimum_settings {
    size_t size;
    const char *backend;      /* NULL: auto */
    double tolerance;         /* of the optimum of every state, relative to the largest; default 1e-9 */
    int64_t iterations_limit; /* policy improvements; default 10000 */
} nadir_optimum_settings;

NADIR_API void nadir_optimum_settings_fill(nadir_optimum_settings *settings, size_t size);
static inline void nadir_optimum_settings_default(nadir_optimum_settings *settings)
{
    nadir_optimum_settings_fill(settings, sizeof *settings);
}

typedef struct nadir_optimum_result {
    size_t size;
    double nominal_optimum;  /* mu . V* */
    double lower_bound;      /* on the optimum and on the return of the policy found */
    double upper_bound;      /* on the optimum: no policy does better */
    double residual;         /* max - min over states of the change by one more sweep */
    const char *stop_reason; /* "tolerance"; "stable": no action improves; "iterations": the limit */
    const char *backend;     /* NULL: none was needed */
    int64_t iterations;      /* policies whose value was solved for */
    int64_t sweeps;          /* passes over all rows */
    int64_t solves;
    int64_t products; /* of iterative backends: with the kernel under a policy */
    double seconds;
} nadir_optimum_result;

/* The best policy, which is deterministic, and its return. result->size must be set; settings may be NULL for
 * the defaults. NADIR_ERROR_NOT_CONVERGED: the limit was reached; *policy, if not NULL, is the best so far,
 * with its bounds. */
NADIR_API nadir_status nadir_optimum(nadir_context *context, nadir_model *model,
                                     const nadir_optimum_settings *settings, nadir_policy **policy,
                                     nadir_optimum_result *result);

/* The best policies for H steps, one for each, by backward induction: the sum over n < H of gamma^n times the reward
 * of step n, 0 <= gamma <= 1. policies: [horizon], the caller's to free; all NULL on failure. result->size must be
 * set; residual is 0, and sweeps is the horizon. */
NADIR_API nadir_status nadir_horizon_optimum(nadir_context *context, nadir_model *model, int64_t horizon,
                                             nadir_policy **policies, nadir_optimum_result *result);

/* ---------------------------------------------------------------------------------------------------------
 * Robust evaluation: the worst return of a policy over all kernels of a ball around the nominal one
 *
 * With p = norm, alpha the scales of the rows and beta the radius, the ball has all kernels whose rows sum to
 * one, lie in the domain, and satisfy
 *
 *     nonrect    sum over all rows of (|P_sa - Phat_sa|_p / alpha_sa)^p <= beta^p
 *     s          the same for the rows of each state, with its own beta_s
 *     sa         |P_sa - Phat_sa|_p <= alpha_sa beta_sa for each row
 *
 * Weights w of entries, at p = 2, put sqrt(sum ((P - Phat) / w)^2) in the place of |P_sa - Phat_sa|_2; entries of weight 0,
 * or without a nominal probability, stay as they are. The model has them, or the norm is NADIR_NORM_CHI2: w^2 = Phat, in the
 * place of those of the model, so that the ball is sum (P - Phat)^2 / Phat <= beta^2. They are for the domain support,
 * which domain simplex then is.
 */
#define NADIR_NORM_CHI2 (-2.0)

typedef struct nadir_ball {
    size_t size;
    nadir_set set;        /* unsaid: the model's, else nonrect */
    nadir_domain domain;  /* unsaid: the model's, else simplex */
    double norm;          /* 1 to infinity, or NADIR_NORM_CHI2; NaN: the model's, else 2 */
    const double *radius; /* [radius_count]; NULL: the model's own */
    int64_t radius_count; /* 1; or one for each state (set s) or row (set sa) */
    const double *scales; /* [rows] 0 or more, 0 pins a row; NULL: the model's, else all one */
} nadir_ball;

NADIR_API void nadir_ball_fill(nadir_ball *ball, size_t size);
static inline void nadir_ball_default(nadir_ball *ball)
{
    nadir_ball_fill(ball, sizeof *ball);
}

typedef enum nadir_certify {
    NADIR_CERTIFY_OFF,   /* no proof: only the cheapest lower bound */
    NADIR_CERTIFY_AUTO,  /* proofs whose cost is in proportion to the search */
    NADIR_CERTIFY_STRICT /* every proof, until time_limit; the kernel found is factored again; exact breakdown
                            radius */
} nadir_certify;

typedef struct nadir_robust_settings {
    size_t size;
    const char *method;       /* NULL: "auto"; others: nadir_method_name, docs/methods.md */
    nadir_certify certify;    /* default auto */
    double tolerance;         /* of the value, relative to the penalty; default 1e-9 */
    double width;             /* largest width of certified bounds, relative to the penalty; default 1e-6 */
    int64_t iterations_limit; /* of the search, or samples; default 10000 */
    bool optimistic;          /* the best case instead of the worst */
    double time_limit; /* seconds that all proofs of one worst case may take with certify strict, but for the
                          step at hand; default 10; infinity: until it is proven; 0: little work */
} nadir_robust_settings;

NADIR_API void nadir_robust_settings_fill(nadir_robust_settings *settings, size_t size);
static inline void nadir_robust_settings_default(nadir_robust_settings *settings)
{
    nadir_robust_settings_fill(settings, sizeof *settings);
}

/* lower_bound <= worst return over the ball <= upper_bound; likewise for the best case. */
typedef struct nadir_robust {
    size_t size;
    double nominal_return;
    double robust_return; /* of the kernel found, which lies in the ball */
    double penalty;       /* nominal_return - robust_return; negative for the best case */
    double lower_bound, upper_bound;
    bool certified;    /* both bounds, not made by the search, are within `width`: docs/robust.md */
    bool kernel_valid; /* the kernel found has no negative entry */
    bool time_ran_out; /* proofs stopped at time_limit or by an interruption, and might have come further */
    const char *certificate; /* "rigorous": includes all rounding; "numerical": rests on converged
                                iterations; "none" */
    const char *bound;       /* the proof of the bound: see docs/robust.md */
    double kappa;            /* of the second-order proof; NaN: none */
    double stationarity_gap; /* first-order gain of one more step; NaN: not of this method */
    nadir_set set;
    nadir_domain domain;
    double norm;
    double radius;           /* the largest, where there are many */
    const char *method;      /* of the search */
    const char *stop_reason; /* "tolerance", "stable", "slow", "iterations", ...: docs/solving.md */
    int64_t iterations;
    int64_t solves;           /* right-hand sides, including those of proofs */
    double breakdown_radius;  /* free domain: no kernel of a smaller ball is singular; NaN: other domain */
    double valid_radius;      /* no kernel of a smaller ball has negative entries */
    double kernel_minimum;    /* the smallest entry of the kernel found */
    double residual;          /* of the nominal value, in the system of the backend */
    double return_difference; /* |mu . v - d . R^pi| of the nominal solution */
    const char *backend;
    int64_t backend_memory; /* bytes */
    double seconds_nominal; /* averaging, factoring, and the nominal value and occupancy */
    double seconds_robust;  /* from the nominal solution to the kernel and its return */
    double seconds_certify; /* bounds and proofs */
    /* Without a discount; otherwise NaN. docs/robust.md */
    double duration;         /* expected number of steps to the end under the nominal kernel */
    double duration_bound;   /* no kernel of the ball lasts longer; infinity: some may never end */
    double trap_radius_low;  /* every kernel of a smaller ball ends; NaN: not looked for, */
    double trap_radius_high; /* and one of a ball of this radius never does */
} nadir_robust;

/* The worst kernel found, with the witness of its bounds. */
typedef struct nadir_worst nadir_worst;

/* result->size must be set. ball and settings may be NULL for the defaults; worst may be NULL.
 * NADIR_ERROR_ILL_POSED: free domain, and a radius at or past breakdown. NADIR_ERROR_NOT_CONVERGED: the limit
 * was reached; NADIR_ERROR_INTERRUPTED: the user stopped strict proofs. In both cases result, if its stop_reason is not NULL,
 * holds the best found so far, with its bounds. */
NADIR_API nadir_status nadir_solver_robust(nadir_context *context, nadir_solver *solver,
                                           const nadir_ball *ball, const nadir_robust_settings *settings,
                                           nadir_robust *result, nadir_worst **worst);

/* The same for `count` radii: those of the ball times factors[i]; results: [count], each with its size set.
 * Much cheaper than one after the other: linear systems are solved together, or searches start from the
 * results of smaller radii. On the free domain a radius at or past breakdown has the stop_reason "breakdown",
 * a return of NaN, and in breakdown_radius the breakdown radius or an upper bound on it;
 * NADIR_ERROR_ILL_POSED if all radii are such. NADIR_ERROR_INTERRUPTED: the results of radii that were finished
 * have a stop_reason. A progress function may read results: those that have a stop_reason are finished, and hold; they
 * may still be replaced by better ones. Clear stop_reason first where results are used again. */
NADIR_API nadir_status nadir_solver_robust_many(nadir_context *context, nadir_solver *solver,
                                                const nadir_ball *ball, const nadir_robust_settings *settings,
                                                int64_t count, const double *factors, nadir_robust *results);

/*
 * A finite horizon: the worst return of H steps, the sum over n < H of gamma^n times the reward of step n, over
 * the ball; 0 <= gamma <= 1. The adversary chooses one kernel for all steps, on every set: robust dynamic
 * programming, which may choose another in every step, is only a lower bound, also for sets s and sa.
 * policies: [policies_count], one for each step, or one for all. Domains simplex, with rows * states of at most
 * 5e7, and support; one process; the processor alone.
 *
 * results: [count], one for each factor of the radius, each with its size set; bound is "second-order" (the
 * kernel found is the worst: kappa at most 1/2), "lagrangian" or "bellman". *worst, unless NULL (one factor): the
 * model with the kernel found.
 */
NADIR_API nadir_status nadir_horizon_robust(nadir_context *context, nadir_model *model, int64_t horizon,
                                            int64_t policies_count, const nadir_policy *const *policies,
                                            const nadir_ball *ball, const nadir_robust_settings *settings,
                                            int64_t count, const double *factors, nadir_robust *results,
                                            nadir_model **worst);

/*
 * Two policies under the same kernel: the worst case, over the ball, of the return of A less that of B. It is
 * at least worst(A) - best(B), which two different kernels attain.
 * lower_bound <= min over P of J^A_P - J^B_P <= upper_bound; optimistic: the maximum instead.
 */
typedef struct nadir_difference {
    size_t size;
    double nominal; /* J^A - J^B under the nominal kernel */
    double worst;   /* under the kernel found, which lies in the ball */
    double lower_bound, upper_bound;
    bool certified;          /* the bounds are within `width` times |nominal - worst| */
    const char *certificate; /* "rigorous", "numerical", "none" */
    const char *bound;       /* "second-order", "first-order", "decoupled", ...: see docs/robust.md */
    double decoupled_bound;  /* worst(A) - best(B), each proven by itself; infinite: not known */
    double kappa;            /* of the second-order proof, which needs at most 1/2; NaN: none */
    double stationarity_gap; /* first-order gain of one more step */
    const char *method;
    const char *stop_reason;
    int64_t iterations; /* of all searches */
    double kernel_minimum;
    double seconds_search;
    double seconds_certify; /* bounds and proofs */
} nadir_difference;

/* Both solvers are of the same model. result->size must be set; ball and settings may be NULL for the
 * defaults (method is not used); worst may be NULL, and has no witness. NADIR_ERROR_UNSUPPORTED: no finite
 * bound can be proven, or rows have too many entries to be written out (domain support: no limit).
 * NADIR_ERROR_ILL_POSED and NADIR_ERROR_NOT_CONVERGED as above. */
NADIR_API nadir_status nadir_solver_difference(nadir_context *context, nadir_solver *a, nadir_solver *b,
                                               const nadir_ball *ball, const nadir_robust_settings *settings,
                                               nadir_difference *result, nadir_worst **worst);

/* The largest ball whose worst return still meets a target. */
typedef struct nadir_radius {
    size_t size;
    double target;
    double nominal_return;
    double radius;       /* at which the worst return found equals the target; infinity: see stop_reason */
    double radius_lower; /* proven: every kernel of this ball meets the target */
    double radius_upper; /* proven: some kernel of this ball does not; infinity: none is known */
    bool certified;      /* both bounds are within settings->width, relative to the radius */
    const char *certificate; /* of radius_lower: "rigorous", "numerical", "none" (radius_lower is 0) */
    const char *stop_reason; /* "tolerance"; "iterations"; "domain": every kernel of the domain meets the
                                target; "breakdown": so does every kernel of a ball below breakdown */
    nadir_set set;
    nadir_domain domain;
    double norm;
    double breakdown_radius, valid_radius; /* as in nadir_robust */
    int64_t evaluations;                   /* of one radius each */
    int64_t solves;
    const char *backend;
    double seconds_nominal, seconds_robust, seconds_certify;
} nadir_radius;

/* The largest radius whose worst return is at least `target` (settings->optimistic: whose best return is at
 * most `target`), to settings->tolerance, relative. Radii of states or rows in the ball count by their ratios
 * alone; results are the largest of them. NADIR_ERROR_ILL_POSED: the nominal kernel does not meet the target.
 * result->size must be set. */
NADIR_API nadir_status nadir_solver_radius(nadir_context *context, nadir_solver *solver,
                                           const nadir_ball *ball, const nadir_robust_settings *settings,
                                           double target, nadir_radius *result);

NADIR_API void nadir_worst_free(nadir_worst *worst);

/* The files of the model, of the policy and of the kernel once it is written. Files written afterwards hold
 * their digests, which nadir_verify compares. NULL: as before. */
NADIR_API nadir_status nadir_worst_set_files(nadir_context *context, nadir_worst *worst, const char *model,
                                             const char *policy, const char *kernel);

/* Writes the kernel. .npz: b (per row) and k of kernels Phat - b k^T, else the rows; other endings: the whole
 * model with this kernel (NADIR_ERROR_UNSUPPORTED if it has negative entries). */
NADIR_API nadir_status nadir_worst_write(nadir_context *context, const nadir_worst *worst, const char *path);
/* Writes the numbers that prove the bounds, as JSON. */
NADIR_API nadir_status nadir_worst_write_witness(nadir_context *context, const nadir_worst *worst,
                                                 const char *path);
/* y[row] = sum over t of P(t|row) x[t] for the kernel found; x: [states], y: [rows]. */
NADIR_API void nadir_worst_multiply(nadir_context *context, const nadir_worst *worst, const double *x,
                                    double *y);
/* The model with this kernel as the nominal one. NADIR_ERROR_UNSUPPORTED: it has negative entries. */
NADIR_API nadir_status nadir_worst_model(nadir_context *context, const nadir_worst *worst,
                                         nadir_model **model);

/*
 * The penalty, row by row. With d the nominal occupancy and v_P the value under the kernel P found,
 *
 *     nominal return - return of P = sum over rows of gamma d(s) pi(a|s) (Phat_sa - P_sa) . v_P.
 *
 * For the kernel of a difference (nadir_solver_difference): the terms of A less those of B, which add up to the nominal
 * difference less that of P.
 */
typedef struct nadir_damage {
    size_t size;
    int64_t state, row, action;
    double penalty;      /* the term of this row */
    double share;        /* of the penalty; 0 if no row changes */
    double mass;         /* probability moved: half the L_1 change of the row */
    int64_t from, to;    /* the successors that lose and gain most probability */
    double lost, gained; /* how much, in all */
    /* From the one to the other goes the smaller of both. It is the row's largest move: successors that lose hand it, in the
     * order of how much, to those that gain. */
    double moved;
    int64_t moves;  /* how many such moves the row has, but for those below a thousandth of its mass */
    int64_t is_new; /* 1: the nominal row does not have `to`; 0: it does */
    /* Probability that lands where the row has no reward, though rewards are paid on landing; where most of it lands (-1:
     * there is none), and what that is assumed to pay (NaN: there is none), see nadir_unseen. */
    double assumed;
    int64_t assumed_to;
    double assumed_reward;
} nadir_damage;

/* damages: [count], each with its size set; the first *found are filled, largest share first. *changed: the
 * number of rows that differ from the nominal ones by more than rounding. *penalty: the sum over all rows. */
NADIR_API nadir_status nadir_worst_explain(nadir_context *context, const nadir_worst *worst, int64_t count,
                                           nadir_damage *damages, int64_t *found, int64_t *changed,
                                           double *penalty);

/* The gradient of the worst (or best) return with respect to the probabilities of the policy, by Danskin:
 * d_P(s) Q_P(s, a) at the kernel found, a subgradient if several kernels are equally bad. gradient:
 * [rows]. */
NADIR_API nadir_status nadir_worst_gradient(nadir_context *context, const nadir_worst *worst,
                                            double *gradient);
/* The same from the nominal value, occupancy and Q alone, by the paper's formula of four terms.
 * NADIR_ERROR_UNSUPPORTED: the kernel is not of the form Phat - b k^T (free domain). */
NADIR_API nadir_status nadir_worst_gradient_nominal(nadir_context *context, const nadir_worst *worst,
                                                    double *gradient);

/* ---------------------------------------------------------------------------------------------------------
 * Robust policy: max over policies of the worst return over the ball
 *
 * The lower bound is that of the robust evaluation of the policy found. The upper bound is the optimum V*(P)
 * of one kernel P >= 0 of the ball, which no policy's worst return exceeds: of the worst kernels found, or of
 * a mixture of them.
 */
typedef struct nadir_robust_optimum_step {
    size_t size;
    int64_t iteration;
    int64_t evaluations;
    double robust_return; /* of the current policy */
    double gap;           /* first-order estimate of what other policies could gain, relative */
    double seconds;
} nadir_robust_optimum_step;

/* Called after every step; a nonzero return stops the search (NADIR_ERROR_INTERRUPTED). */
typedef int (*nadir_robust_optimum_watch)(void *user, const nadir_robust_optimum_step *step);

typedef struct nadir_robust_optimum_settings {
    size_t size;
    const char *method;  /* NULL or "auto"; "quasi-newton", "spectral": projected gradients; "paper": its
                            Algorithm 3; "bellman": robust policy iteration, for rectangular sets */
    const char *backend; /* NULL: auto */
    double gap;          /* between the bounds, relative to the larger of the nominal optimum and the
                            robust return; default 1e-6 */
    int64_t evaluations_limit; /* policies whose worst kernel is searched for; default 1000 */
    double time_limit;         /* seconds; default infinity */
    double step;               /* step size of method paper; 0 (default): (1 - gamma) / (range of rewards) */
    nadir_certify certify;     /* of the last evaluation; default auto */
    const nadir_policy *start; /* NULL: the nominal optimum */
    const char *checkpoint;    /* a file to save the search to, always complete; NULL: none */
    double checkpoint_seconds; /* the least time between two saves; default 1; 0: after every step */
    const char *resume;        /* a checkpoint of the same model, ball and method to continue; NULL: none */
    nadir_robust_optimum_watch watch; /* NULL: none */
    void *watch_user;
    double proof_time_limit; /* time_limit of nadir_robust_settings, for the last evaluation; default 10 */
} nadir_robust_optimum_settings;

NADIR_API void nadir_robust_optimum_settings_fill(nadir_robust_optimum_settings *settings, size_t size);
static inline void nadir_robust_optimum_settings_default(nadir_robust_optimum_settings *settings)
{
    nadir_robust_optimum_settings_fill(settings, sizeof *settings);
}

typedef struct nadir_robust_optimum_result {
    size_t size;
    double nominal_optimum;        /* the best return on the nominal kernel */
    double initial_robust_return;  /* the worst return of the first policy */
    double robust_return;          /* the worst return of the policy found */
    double nominal_return;         /* of that policy, on the nominal kernel; NaN: interrupted before */
    double lower_bound;            /* proven: its worst return is not below */
    double optimality_upper_bound; /* proven: no policy's worst return is above */
    double optimality_gap;         /* optimality_upper_bound - lower_bound */
    bool certified;                /* its evaluation is certified, and the gap is as small as asked for */
    const char *certificate;       /* "rigorous", "numerical" or "none": of the weaker of both bounds */
    const char *method;
    const char *stop_reason; /* "gap": reached by the search (proven: see `certified`); "stationary": no
                                step improves the policy, and the gap is open; "evaluations", "time",
                                "interrupted" */
    int64_t iterations;      /* steps of the policy */
    int64_t evaluations;
    int64_t stochastic_states; /* states with more than one action of positive probability */
    int64_t mixed_kernels;     /* kernels in the mixture of the upper bound; 1: no mixture */
    double seconds_nominal;    /* the nominal optimum */
    double seconds_search;
    double seconds_certify; /* the last evaluation with its proof, and the upper bound */
} nadir_robust_optimum_result;

/* The best policy against the ball. ball and settings may be NULL for the defaults; result->size must be set.
 * evaluation: the robust evaluation of the policy found, with its size set, or NULL; worst may be NULL.
 * NADIR_ERROR_NOT_CONVERGED, NADIR_ERROR_INTERRUPTED: *policy, if not NULL, is the best so far, with its
 * bounds. NADIR_ERROR_ILL_POSED: free domain, and the radius is past breakdown for every policy tried; without a
 * discount, where under the first policies, the nominal optimum and the uniform one, some kernel may never end. */
NADIR_API nadir_status nadir_robust_optimum(nadir_context *context, nadir_model *model,
                                            const nadir_ball *ball,
                                            const nadir_robust_optimum_settings *settings,
                                            nadir_policy **policy, nadir_robust_optimum_result *result,
                                            nadir_robust *evaluation, nadir_worst **worst);

/* ---------------------------------------------------------------------------------------------------------
 * Uncertain rewards: R may be off by any D with |D|_p <= radius, a vector over pairs (s, a), while the kernel is any of its ball
 *
 * With x_P(s, a) = d_P(s) pi(a|s) and 1/p + 1/q = 1 the worst return is min over P of J_P - radius |x_P|_q. The rewards of
 * transitions of a pair move together.
 */
typedef struct nadir_reward_ball {
    size_t size;
    double radius; /* 0 or more */
    double norm;   /* p, 1 to infinity; default 2 */
} nadir_reward_ball;

NADIR_API void nadir_reward_ball_fill(nadir_reward_ball *rewards, size_t size);
static inline void nadir_reward_ball_default(nadir_reward_ball *rewards)
{
    nadir_reward_ball_fill(rewards, sizeof *rewards);
}

/* The worst return over both balls, as nadir_solver_robust. nominal_return: of the model as it is. Exact and certified, if the kernel's part is,
 * for p = 1 (up to 1000 pairs with probability), p = infinity, and a kernel that is known (radius 0); else bounds that may be
 * apart (docs/robust.md). change: [rows] D of the worst rewards found, or NULL; worst: the kernel found, in the model with these rewards, or
 * NULL. NADIR_ERROR_UNSUPPORTED: the best case; without a discount; domain free; rewards of transitions
 * on domain simplex, where a pair's rewards of new transitions are assumed. One process. */
NADIR_API nadir_status nadir_rewards_robust(nadir_context *context, nadir_model *model,
                                            const nadir_policy *policy, const nadir_ball *ball,
                                            const nadir_reward_ball *rewards,
                                            const nadir_solver_settings *solver,
                                            const nadir_robust_settings *settings, nadir_robust *result,
                                            double *change, nadir_worst **worst);

/* ---------------------------------------------------------------------------------------------------------
 * Unions: the set is the union of `count` balls, each around the kernel of a model of its own
 *
 * The models have the same states, actions and discount, and the same names where they have names. A kernel pays
 * the rewards of the model in whose ball it is, and starts where that one does. The first model is the nominal one.
 * A ball of radius 0 is a single kernel: with these the set is finite. One process.
 */

typedef struct nadir_union nadir_union;

/* The models of several files, in order. A file is a model; or a list of models: a table with the column `model`, paths
 * relative to its folder, and, if need be, `radius`; or a CSV table with a column `idoutcome`: one model for each outcome. settings:
 * of all, but `outcome` is not used; may be NULL for the defaults. */
NADIR_API nadir_status nadir_union_read(nadir_context *context, int64_t files, const char *const *paths,
                                        const nadir_read_settings *settings, nadir_union **made);
NADIR_API void nadir_union_free(nadir_union *self);
NADIR_API int64_t nadir_union_count(const nadir_union *self);
/* Members, from 0: the model, valid as long as the union is; the radius in a list, NaN: it says none; the path. */
NADIR_API nadir_model *nadir_union_model(const nadir_union *self, int64_t member);
NADIR_API double nadir_union_radius(const nadir_union *self, int64_t member);
NADIR_API const char *nadir_union_member(const nadir_union *self, int64_t member);

/* The worst return over all members (optimistic: the best). balls: [count]; NULL: the models' own. members: [count],
 * each with its size set: the evaluation of each. *result, with its size set: that of the union; of the member *which,
 * but for the nominal return, which is that of the first, and for sums of work. lower_bound and upper_bound are the
 * smallest of the members' (optimistic: the largest); certified if the member with the smallest lower bound is.
 * worst: of that member, or NULL. Errors as of nadir_solver_robust; they name the member. */
NADIR_API nadir_status nadir_union_robust(nadir_context *context, int64_t count, nadir_model *const *models,
                                          const nadir_ball *balls, const nadir_policy *policy,
                                          const nadir_solver_settings *solver,
                                          const nadir_robust_settings *settings, nadir_robust *members,
                                          nadir_robust *result, int64_t *which, nadir_worst **worst);

/* The best stationary policy against the union, as nadir_robust_optimum; members, evaluation, which, worst: of the
 * policy found, as above. No policy guarantees more than optimality_upper_bound: the smallest such bound of a member
 * alone, or, with a discount below 1, that of a mixture of a kernel of each (docs/policy.md). There need not be a
 * mixture that closes the gap. method, step, checkpoint and resume of the settings are not for unions. Domain free:
 * NADIR_ERROR_UNSUPPORTED. */
NADIR_API nadir_status nadir_union_optimum(nadir_context *context, int64_t count, nadir_model *const *models,
                                           const nadir_ball *balls,
                                           const nadir_robust_optimum_settings *settings,
                                           nadir_policy **policy, nadir_robust_optimum_result *result,
                                           nadir_robust *members, nadir_robust *evaluation, int64_t *which,
                                           nadir_worst **worst);

/* ---------------------------------------------------------------------------------------------------------
 * From data to a ball: a model whose ball holds the true kernel with a given confidence; see docs/fit.md
 *
 * A row (s, a) whose successor t was seen n_t times has the posterior Dirichlet(a + n_t) over its allowed
 * successors; the nominal kernel is its mean. By method, the radius is a quantile of the distance under the
 * posterior or under bootstrap data, or a concentration bound that holds for every kernel.
 */
typedef struct nadir_fit_settings {
    size_t size;
    double confidence;      /* that the ball contains the true kernel, in (0, 1); default 0.95 */
    const char *method;     /* NULL: "posterior"; "bootstrap"; "distribution-free" */
    double prior;           /* of a row, in observations, shared equally by its allowed successors; NaN: 2, or
                               0 for distribution-free */
    double concentration;   /* a of every successor instead; NaN: by `prior` */
    const char *successors; /* allowed ones. NULL or "all": every state, domain simplex; "seen", or a file of
                               transitions: only these, domain support. Posterior samples: those of positive
                               probability in some sample, unless "all" */
    const char *unvisited;  /* rows without data. "uniform": uniform, any distribution may be true (guarantee
                               kernel alone); "pin": uniform, taken as known; "absorb": stays at the lowest
                               reward. NULL: absorb; guarantee kernel: uniform */
    const char *scales;     /* of rows: "ones", "deviation", "occupancy", "sensitivity"; NULL or "auto": those
                               with the best guarantee (without rewards and discount: deviation) */
    double norm;            /* 1 to infinity; default 2 */
    nadir_set set;          /* of the ball in the model; default nonrect */
    double discount;        /* of the model; NaN: not known */
    const char *initial;    /* as in nadir_read_settings; NULL: first states of episodes, else uniform */
    bool costs;             /* rewards are costs: negate them */
    int64_t states;         /* 0: one more than the largest number in the data */
    int64_t actions;        /* of every state; 0: likewise */
    bool ragged;            /* a state has only the actions seen there */
    int64_t samples;        /* kernels to draw; 0: 10000, fewer but at least 1000 for large models */
    bool
        frozen_rewards; /* as in nadir_read_settings. Otherwise the mean reward of each transition that was seen
                               is paid on landing; successors that were not seen pay as `unseen` says */
    nadir_unseen unseen;
    double unseen_value; /* for NADIR_UNSEEN_VALUE; a cost where rewards are costs */
    const char *
        guarantee; /* what is promised: "return", of the policy that is chosen or given; "posterior", the same
                              if the prior is right; "kernel": the ball holds the true one. NULL: "return", or "kernel"
                              where method, scales or set are given, for posterior samples, and without rewards or discount */
    const char *
        columns; /* "state=NAME,action=NAME,...": what columns of the data are called, of state, action, reward,
                            next, done, truncated, episode, time, step, count; NULL: by common names (docs/formats.md) */
    const char *const
        *state_names; /* [state_names_count] in the order of their numbers, where states are names; names
                                       of the data that are not among them follow. NULL: as they appear */
    int64_t state_names_count;
    const char *const *action_names; /* [action_names_count] likewise */
    int64_t action_names_count;
} nadir_fit_settings;

NADIR_API void nadir_fit_settings_fill(nadir_fit_settings *settings, size_t size);
static inline void nadir_fit_settings_default(nadir_fit_settings *settings)
{
    nadir_fit_settings_fill(settings, sizeof *settings);
}

/* Data and their posterior. */
typedef struct nadir_fit nadir_fit;

/* path: a CSV table or a NumPy array of transitions, counts, trajectories or posterior samples, recognised by
 * its columns (docs/fit.md); "-": standard input. settings may be NULL for the defaults; they are copied. */
NADIR_API nadir_status nadir_fit_read(nadir_context *context, const char *path,
                                      const nadir_fit_settings *settings, nadir_fit **fit);
NADIR_API void nadir_fit_free(nadir_fit *fit);
/* The nominal model, without a ball; valid as long as the fit is. */
NADIR_API nadir_model *nadir_fit_nominal(const nadir_fit *fit);

/* What is promised: "return", "kernel" or "posterior"; as asked for, or as the settings say where nothing was. */
NADIR_API const char *nadir_fit_promised(const nadir_fit *fit);

/* The worst return of a policy over one ball of the asked confidence. */
typedef struct nadir_fit_guarantee {
    nadir_set set;
    const char *scales;   /* of rows; "" for rectangular sets */
    double radius;        /* the largest, where there are many */
    double robust_return; /* worst return found over the ball; NaN: no rewards or discount */
    double lower_bound;   /* proven: no kernel of the ball returns less */
    bool certified;
} nadir_fit_guarantee;

enum { NADIR_FIT_SCALES = 4 };

typedef struct nadir_fit_result {
    size_t size;
    const char *data; /* "transitions", "counts", "trajectories", "samples" */
    int64_t states, rows;
    int64_t rows_visited;
    int64_t rows_known;   /* pinned: one allowed successor, or no data and taken as known */
    int64_t observations; /* lines of the data */
    double total;         /* sum of their counts */
    int64_t episodes;     /* 0: not known */
    double visits_min;    /* over the rows that were visited */
    double visits_median;
    const char *method;
    double confidence;
    double prior;    /* of a row; NaN: of a successor, or samples were given */
    int64_t samples; /* kernels drawn or given; 0: distribution-free */
    nadir_domain domain;
    double norm;
    double nominal_return;    /* of the policy; NaN: no rewards or discount */
    int64_t chosen;           /* index into candidates */
    int64_t candidates_count; /* choices of scales that were compared */
    nadir_fit_guarantee candidates[NADIR_FIT_SCALES];
    nadir_fit_guarantee sets[3]; /* nonrect (the chosen one), s, sa, at the same confidence */
    double seconds_radii;
    double seconds_guarantees;
    int64_t dropped; /* lines of the data whose next state is not known */
    bool terminal;   /* data with lines that are done: the last state is terminal */
} nadir_fit_result;

/* What the data are: the members of the result down to `norm` but for samples, `dropped` and `terminal`; the others are
 * 0. */
NADIR_API nadir_status nadir_fit_describe(nadir_context *context, const nadir_fit *fit,
                                          nadir_fit_result *result);

/* The model with its ball. policy: of the model nadir_fit_nominal, for which scales are chosen and guarantees
 * given; NULL: the nominal optimum. result->size must be set. */
NADIR_API nadir_status nadir_fit_model(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                                       nadir_fit_result *result, nadir_model **model);

/* What the data promise of the return of one policy: docs/fit.md says on which grounds. */
typedef struct nadir_fit_return_result {
    size_t size;
    const char *guarantee; /* "return" or "posterior" */
    double confidence;
    double nominal_return; /* of the policy, on the posterior mean */
    double guaranteed;     /* the promise. A policy chosen on these data: first order, measured, no theorem */
    double posterior_bound; /* the return is at least this with the asked confidence, if the prior is right */
    double level_used; /* share of the posterior below the guarantee: 1 - confidence, or less for a choice */
    double deviation;  /* of the return over the posterior, to first order */
    double weight;     /* z: the policy maximises the return less z deviations; NaN: it was given */
    int64_t ties;      /* rows that the data do not tell from those that were chosen */
    int64_t draws;
    double monte_carlo_confidence; /* that the bounds are not above the quantiles that the draws estimate */
    double behaviour_return;       /* of the policy that made the data, on the posterior mean */
    int64_t rows_barred;           /* without data, in states with data: never chosen */
    double reward_deviation;       /* pooled, of rewards within a transition; 0: they do not vary */
    double radius;             /* of the ball whose worst case is `guaranteed`; NaN: none, or not asked for */
    double radius_lower_bound; /* proven: the worst return over the ball of the model */
    bool radius_certified;
    double seconds_policy, seconds_draws, seconds_radius;
} nadir_fit_return_result;

/* policy: one made elsewhere, of the model nadir_fit_nominal; NULL: one is chosen on the data. *chosen: the policy that
 * the result speaks of, or NULL where it is not asked for. *model: the nominal model with the ball whose worst return
 * for the policy is the guarantee; it explains the guarantee and does not hold the true kernel with any confidence;
 * model may be NULL. Needs counts, rewards and a discount. */
NADIR_API nadir_status nadir_fit_return(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                                        nadir_fit_return_result *result, nadir_policy **chosen,
                                        nadir_model **model);

/* Which rows `ties` counts: tied, [rows], is 1 for a row that the data do not tell from what the policy takes most in its
 * state.
 * weight: of the result. */
NADIR_API nadir_status nadir_fit_ties(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                                      double weight, unsigned char *tied);

/* Several policies made elsewhere, under the same kernels of the posterior. */
typedef struct nadir_fit_comparison {
    size_t size;
    double confidence;
    int64_t best;  /* the policy with the highest nominal return */
    bool decided;  /* with the confidence, no other policy has a higher true return than `best` */
    int64_t draws; /* as nadir_fit_draws says */
    double monte_carlo_confidence;
    double behaviour_return;
    double reward_deviation;
    double seconds_draws;
} nadir_fit_comparison;

/* How many kernels are drawn for so many policies: the settings' samples, or enough of them. */
NADIR_API int64_t nadir_fit_draws(const nadir_fit *fit, int64_t policies);

/* Bounds as nadir_fit_return gives for each of the policies, and on their differences. All arrays may be NULL; of
 * `count` numbers: nominal, returns on the posterior mean; guaranteed, lower bounds, each with the confidence;
 * together, lower bounds that all hold at once with the confidence (union bound): of a policy picked by looking at them;
 * lead, lower bounds on the return of `best` less that of each: all positive where `decided`. lower: [count * count]
 * with the confidence each, the return of policy i less that of j is at least lower[i * count + j].
 * returns: [count * draws], policy after policy, draw k of all of them with the same kernel. */
NADIR_API nadir_status nadir_fit_compare(nadir_context *context, nadir_fit *fit, int64_t count,
                                         const nadir_policy *const *policies, nadir_fit_comparison *result,
                                         double *nominal, double *guaranteed, double *together, double *lead,
                                         double *lower, double *returns);

/* Where more data help a policy most. */
typedef struct nadir_fit_more_result {
    size_t size;
    double visits;            /* that were asked for, or that the target needs */
    double penalty;           /* now: nominal return less guarantee */
    double penalty_told;      /* predicted, with the visits where they help most */
    double penalty_even;      /* predicted, with as many visits of every row with data */
    double penalty_as_before; /* predicted, with more of what the data have */
} nadir_fit_more_result;

/* visits: how many; or NaN, and penalty: the target. more, share: [rows] visits that each row should get, and its share
 * of the variance of the return now. found: of this policy. NADIR_ERROR_ILL_POSED: no number of visits is enough. */
NADIR_API nadir_status nadir_fit_more(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                                      const nadir_fit_return_result *found, double visits, double penalty,
                                      nadir_fit_more_result *result, double *more, double *share);

/* ---------------------------------------------------------------------------------------------------------
 * Verification: the files of a robust evaluation, checked again without a search
 */
typedef struct nadir_verify_settings {
    size_t size;
    const char *kernel;      /* the kernel file, .npz; needed */
    const char *witness;     /* NULL: the kernel alone */
    const char *model_file;  /* its digest must be that of the evaluation; NULL: numbers alone */
    const char *policy_file; /* likewise */
    const char *backend;     /* NULL: auto */
} nadir_verify_settings;

NADIR_API void nadir_verify_settings_fill(nadir_verify_settings *settings, size_t size);
static inline void nadir_verify_settings_default(nadir_verify_settings *settings)
{
    nadir_verify_settings_fill(settings, sizeof *settings);
}

/* All numbers are computed again, not read from the files. NaN, NULL: not checked. */
typedef struct nadir_verify_result {
    size_t size;
    bool verified; /* all checks hold */
    int64_t checks_count;
    nadir_set set;
    nadir_domain domain;
    double norm;
    double radius; /* the largest, where there are many */
    bool optimistic;
    bool scaled; /* rows have scales: those of the kernel file, else of the model */
    double nominal_return;
    double return_low, return_high; /* of the kernel */
    double bound_proven;            /* on the worst (best) return over the ball */
    const char *certificate;        /* of this bound: as in nadir_robust */
} nadir_verify_result;

/* One check. */
typedef struct nadir_verify_check {
    const char *name; /* "kernel_file", "model", "distance", "lower_bound", ... */
    bool holds;
    const char *detail; /* a sentence */
} nadir_verify_check;

/* The list of checks. */
typedef struct nadir_verification nadir_verification;

/* Checks kernel and witness for this model and policy. result->size must be set. NADIR_ERROR_VERIFICATION: a
 * check fails; result and *verification are set as with NADIR_OK. Other failures (a file that cannot be read,
 * say) leave *verification as it is. */
NADIR_API nadir_status nadir_verify(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                    const nadir_verify_settings *settings, nadir_verify_result *result,
                                    nadir_verification **verification);
/* The checks in order, index = 0, 1, ...; NULL past the last. */
NADIR_API const nadir_verify_check *nadir_verification_check(const nadir_verification *verification,
                                                             int64_t index);
NADIR_API void nadir_verification_free(nadir_verification *verification);

/* Radii or scales from a file, one for each state or row of a model: CSV with the columns idstate,value or
 * idstate,idaction,value, or .npy of that many numbers. *count: 1, states or rows. Free the array with
 * nadir_numbers_free. */
NADIR_API nadir_status nadir_numbers_read(nadir_context *context, const nadir_model *model, const char *path,
                                          double **numbers, int64_t *count);
NADIR_API void nadir_numbers_free(nadir_context *context, double *numbers);
/* Writes numbers: [rows], of any sign: CSV with the columns idstate, idaction and `name`; or .npy, by the
 * ending, of shape (states, actions) if all states have the same actions 0, 1, ..., else (rows). */
NADIR_API nadir_status nadir_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                           const double *numbers, const char *path);

/* ---------------------------------------------------------------------------------------------------------
 * Report: one page for people, HTML that needs nothing else, about one problem; see docs/report.md
 *
 * The worst return of a policy at many radii, beside that of the policy that does best in the worst case, who does
 * the damage, where the two policies differ, rectangular sets, what is assumed, and what is proven.
 */
typedef struct nadir_report_settings {
    size_t size;
    const nadir_policy *policy; /* NULL: the nominal optimum */
    const char *policy_name;    /* what the page calls it; NULL: "the nominal optimum" */
    const char *title;          /* NULL: "model" */
    int64_t radii_count;        /* of the curve, at most 101; 0: 11 radii, from 0 to twice that of the ball */
    double radii_first, radii_last;
    double time_limit; /* seconds, about; what is not found by then is left out, and said so; default 60 */
    const nadir_fit_result *data; /* what nadir_fit_model said of the model and this policy; NULL: unsaid */
    const nadir_fit_return_result *promise; /* what nadir_fit_return said of the policy; NULL: unsaid */
    /* The commands that the page shows, as a shell takes them: how they call the model with its options, the policy, the
       options of the ball (but for a radius that is a number), and what makes those files, line by line. NULL:
       "model.npz", the name of the policy or "optimal", as the ball says, nothing. */
    const char *model_words, *policy_words, *ball_words, *preparation;
} nadir_report_settings;

NADIR_API void nadir_report_settings_fill(nadir_report_settings *settings, size_t size);
static inline void nadir_report_settings_default(nadir_report_settings *settings)
{
    nadir_report_settings_fill(settings, sizeof *settings);
}

/* The numbers of its verdict. */
typedef struct nadir_report_result {
    size_t size;
    double radius;         /* that is marked: the largest of the ball */
    double nominal_return; /* of the policy */
    double robust_return;  /* its worst return found; NaN: left out */
    double lower_bound;    /* its worst return is not below */
    bool certified;
    /* Of the policy that does best in the worst case; NaN: left out. */
    double optimum_nominal_return;
    double optimum_robust_return;
    double optimum_lower_bound;
    double optimality_upper_bound;
    bool optimum_certified;
    int64_t radii;    /* of the curve, the marked one included */
    int64_t proven;   /* those whose worst return, for the policy, is certified */
    int64_t left_out; /* things that were not found within the time, or have no answer */
    bool time_ran_out;
    int64_t bytes;
    double seconds;
} nadir_report_result;

/* The ball as in nadir_solver_robust; without a radius, also of the model, 0.1, and the page says that this is no
 * estimate. settings may be NULL for the defaults; result->size must be set. NADIR_ERROR_INTERRUPTED: no page is
 * written. */
NADIR_API nadir_status nadir_report_write(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                          const nadir_report_settings *settings, const char *path,
                                          nadir_report_result *result);

/* ---------------------------------------------------------------------------------------------------------
 * Methods by name: nadir's own, the paper's, and those that it compares with; see docs/methods.md
 *
 * All but "auto" are for the non-rectangular ball, and most for domain free and norm 2 alone.
 */

/* The names of the methods, and what each does in half a line; index = 0, 1, ...; NULL past the last. */
NADIR_API const char *nadir_method_name(int64_t index);
NADIR_API const char *nadir_method_summary(int64_t index);

typedef struct nadir_baseline_settings {
    size_t size;
    const char *method; /* NULL: auto */
    double seconds;     /* limit, checked between steps; default infinity */
    int64_t samples;    /* limit of kernels tried, or of steps; default 10000 */
    double tolerance;   /* of the penalty, relative, for methods that converge; default 1e-9 */
    bool optimistic;    /* the best case instead of the worst */
} nadir_baseline_settings;

NADIR_API void nadir_baseline_settings_fill(nadir_baseline_settings *settings, size_t size);
static inline void nadir_baseline_settings_default(nadir_baseline_settings *settings)
{
    nadir_baseline_settings_fill(settings, sizeof *settings);
}

typedef struct nadir_baseline {
    size_t size;
    double nominal_return;
    double robust_return; /* of the kernel found, which lies in the ball */
    double penalty;       /* nominal_return - robust_return; negative for the best case */
    const char *method;
    const char *stop_reason; /* "tolerance", "stable", "time", "samples", ... */
    bool converged;          /* false: a limit was reached first; always so for methods that sample */
    int64_t samples;         /* kernels tried, or steps */
    double seconds;          /* from the nominal solution to the kernel */
} nadir_baseline;

/* The best value at one time. */
typedef struct nadir_trajectory_point {
    double seconds; /* since the nominal solution */
    int64_t samples;
    double value; /* |penalty| of the best kernel so far; for the norm over the cone, below, |A x| of the
                     best point */
} nadir_trajectory_point;

/* Runs one method within its limits, without proofs, for comparisons. Reaching a limit is not an error. The
 * same seed of the context, samples and threads give the same numbers, unless time runs out first. *points:
 * [*count], rising in all three members, the last for the result; free them with nadir_trajectory_free.
 * points and count may be NULL. result->size must be set; ball and settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_solver_baseline(nadir_context *context, nadir_solver *solver,
                                             const nadir_ball *ball, const nadir_baseline_settings *settings,
                                             nadir_baseline *result, nadir_trajectory_point **points,
                                             int64_t *count);
NADIR_API void nadir_trajectory_free(nadir_context *context, nadir_trajectory_point *points);

/* ---------------------------------------------------------------------------------------------------------
 * The norm over the nonnegative cone: max |A x|_2 over x >= 0, |x|_2 <= 1
 *
 * The subproblem of robust evaluation by bisection, hard in general. With v_i the eigenvectors of A^T A, by
 * falling eigenvalue lambda_i, and u_i the longer of the positive and negative part of v_i, normalised:
 *
 *     "0"      u_1
 *     "1"      the best u_i
 *     "2"      the best positive part of any combination of v_1 and v_2, exactly; the maximum for rank two
 *     "3"      of v_1, v_2 and v_3, exactly; the maximum for rank three
 *     "paper"  the u_i with the largest lambda_i <v_i, u_i>: Algorithm 2 of the paper, as printed
 *     "power"  the best result of projected power iterations from the leading v_i of both signs, the point
 *              of order 2 and more
 *     "random" the best of random x with uniform directions
 *     "slsqp"  sequential quadratic programming (NLopt) from one random x
 */
typedef struct nadir_cone_norm_settings {
    size_t size;
    const char *order; /* NULL: "power" */
    bool bounds;       /* also the dual bound: by far the best, at many times the work */
    double tolerance;  /* of the dual bound, relative to the value, and of the steps of "slsqp"; default
                          1e-6 */
    int64_t iterations_limit; /* of the dual bound, each about one eigendecomposition; default 1000 */
    int64_t samples;          /* of "random" and "slsqp": limit of points; default 10000 */
    double seconds;           /* of both: limit of time; default infinity */
    bool record;              /* of both: fill `points` of the result */
} nadir_cone_norm_settings;

NADIR_API void nadir_cone_norm_settings_fill(nadir_cone_norm_settings *settings, size_t size);
static inline void nadir_cone_norm_settings_default(nadir_cone_norm_settings *settings)
{
    nadir_cone_norm_settings_fill(settings, sizeof *settings);
}

/* The bounds include all rounding. */
typedef struct nadir_cone_norm_result {
    size_t size;
    double value;       /* |A x| of the x found: maximum >= value up to the rounding of this product */
    double upper_bound; /* maximum <= upper_bound, the least of the bounds below */
    double zero_bound;  /* sqrt(lambda_1) */
    double first_bound; /* sqrt(c lambda_1 + (1 - c) lambda_2), c = <v_1, u_1>^2: the paper's first order */
    double dual_bound;  /* sqrt(lambda_max(A^T A + N)) for some N >= 0; NaN: not asked for */
    const char *order;
    int64_t support;      /* entries of x that are not zero */
    int64_t iterations;   /* of the dual bound */
    double seconds_value; /* products, eigenvectors and search */
    double seconds_bounds;
    int64_t samples;                /* of "random" and "slsqp": points tried */
    nadir_trajectory_point *points; /* [points_count]; NULL unless recorded. Free them with
                                       nadir_trajectory_free */
    int64_t points_count;
} nadir_cone_norm_result;

/* matrix: [rows * columns] row after row, finite, at most 30000 columns; x: [columns], or NULL. settings may
 * be NULL for the defaults; result->size must be set. NADIR_ERROR_ILL_POSED: the norm is no finite double. */
NADIR_API nadir_status nadir_cone_norm(nadir_context *context, int64_t rows, int64_t columns,
                                       const double *matrix, const nadir_cone_norm_settings *settings,
                                       double *x, nadir_cone_norm_result *result);

/* A matrix from a .npy file of two dimensions; free it with nadir_numbers_free. */
NADIR_API nadir_status nadir_numbers_read_matrix(nadir_context *context, const char *path, double **matrix,
                                                 int64_t *rows, int64_t *columns);

#ifdef __cplusplus
}
#endif

#endif
