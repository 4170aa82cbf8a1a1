/*
 * nadir.h: robust Markov decision processes.
 *
 * A Markov decision process has S states; each state s has its own list of actions; each pair (s, a) is
 * one *row*: a probability distribution P(.|s, a) over successor states and a reward R(s, a). Rows are
 * numbered state after state, so the rows of state s are state_rows[s] .. state_rows[s + 1] - 1.
 *
 * How to read this file: status codes, context, model, policy, files, generators, nominal solution, robust
 * evaluation, the robust policy, from data to a ball, verification, methods by name, the norm over the
 * nonnegative cone. Everything that can fail returns a nadir_status; outputs come last; the sentence that
 * explains a failure is kept in the context (nadir_context_error). Handles are opaque and freed by the
 * function that bears their name; freeing NULL is legal. Settings, facts and results are plain structs whose
 * first member is their size, so that they can grow: fill them with the matching ..._default function, then
 * change what you need. (It calls ..._fill with the size that your compiler saw, so that a newer library does
 * not write past the end of an older struct.)
 *
 * Threads: a context belongs to one thread at a time. Models and policies never change once made and may be
 * shared by any number of threads and contexts. The library keeps no state of its own for the process.
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

/* The sentence of the list above; never NULL. */
NADIR_API const char *nadir_status_sentence(nadir_status status);

/* ---------------------------------------------------------------------------------------------------------
 * Context: memory, messages, progress, randomness, threads
 */
typedef struct nadir_context nadir_context;

typedef enum nadir_log_level {
    NADIR_LOG_WARNING = 1, /* the user should know: something was repaired, ignored or doubtful */
    NADIR_LOG_NOTICE = 2,  /* the user may want to know: what was assumed */
    NADIR_LOG_DEBUG = 3
} nadir_log_level;

/* One message, without a newline. */
typedef void (*nadir_log_function)(void *user, nadir_log_level level, const char *message);

/* Called every now and then during long work with the share done, 0 to 1 (negative: unknown). A nonzero
 * return asks the library to stop; the running call then returns NADIR_ERROR_INTERRUPTED. */
typedef int (*nadir_progress_function)(void *user, const char *task, double share);

/* Memory hooks with the meaning of malloc, realloc and free; all three or none are given. They must outlive
 * all that was made with the context, and are called by whichever thread makes or frees it. */
typedef struct nadir_allocator {
    void *(*allocate)(void *user, size_t bytes);
    void *(*reallocate)(void *user, void *pointer, size_t bytes);
    void (*release)(void *user, void *pointer);
    void *user;
} nadir_allocator;

typedef struct nadir_context_settings {
    size_t size;
    nadir_allocator allocator; /* zeros: malloc, realloc, free */
    size_t memory_limit;       /* bytes in use at once; more is refused. Default: the machine's memory */
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

/* What went wrong in the last call that failed: file, line, state, action, what was expected. Empty when
 * nothing failed yet. Valid until the next call with this context. */
NADIR_API const char *nadir_context_error(const nadir_context *context);

NADIR_API int32_t nadir_context_threads(const nadir_context *context);

/* Bytes in use now, and the most there were at once, by this context and what was made with it. */
NADIR_API size_t nadir_context_memory(const nadir_context *context);
NADIR_API size_t nadir_context_memory_peak(const nadir_context *context);

/* ---------------------------------------------------------------------------------------------------------
 * Engine: many processes, or a device
 *
 * An engine spreads models over several processes, each of which runs the same program and makes the same
 * calls: every process holds the rows of its own states, and all of them get the same answers. Models that
 * are read after it was opened are such parts. What an engine cannot do yet is NADIR_ERROR_UNSUPPORTED.
 *
 * Or it brings a device, an NVIDIA GPU ("cuda"), for this process: models are whole, and everything is as
 * without it, but that policies are averaged and linear systems solved there. NADIR_ERROR_MEMORY, with the
 * sizes, when the device has not enough. Models and solvers that were made with it are used with contexts
 * that have it open, by one thread at a time.
 */
typedef struct nadir_engine nadir_engine;

/* Loads the engine, "petsc" (MPI), opened once by a process, or "cuda". It stays loaded. options: the
 * engine's own (those of PETSc), NULL: none. share_threads: the context's threads are divided among the
 * processes of this machine. The context must outlive the engine. */
NADIR_API nadir_status nadir_engine_open(nadir_context *context, const char *name, const char *options,
                                         bool share_threads, nadir_engine **engine);
NADIR_API int32_t nadir_engine_rank(const nadir_engine *engine);
NADIR_API int32_t nadir_engine_members(const nadir_engine *engine);

/* The last call of a process that is about to exit with this status, once all models are freed. Where it is
 * not 0 and other processes do not come here as well within a few seconds, all processes are ended, and
 * stderr says why: `sentence`, "" or NULL: it was said. */
NADIR_API void nadir_engine_close(nadir_engine *engine, int exit_status, const char *sentence);

/* ---------------------------------------------------------------------------------------------------------
 * Model
 */
typedef struct nadir_model nadir_model;

typedef enum nadir_set { NADIR_SET_UNSAID = 0, NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA } nadir_set;
typedef enum nadir_domain {
    NADIR_DOMAIN_UNSAID = 0,
    NADIR_DOMAIN_SIMPLEX, /* P >= 0 */
    NADIR_DOMAIN_SUPPORT, /* moreover no successor that the nominal kernel does not have */
    NADIR_DOMAIN_FREE     /* rows sum to one, signs free: the set as the paper defines it */
} nadir_domain;

/* The names used in files and options: "nonrect", "s", "sa"; "simplex", "support", "free"; "" if unsaid. */
NADIR_API const char *nadir_set_name(nadir_set set);
NADIR_API const char *nadir_domain_name(nadir_domain domain);

/*
 * The numbers of a model. As input of nadir_model_create, and as output of nadir_model_view.
 * Exactly one of `dense` and (`row_starts`, `columns`, `probabilities`) is not NULL.
 */
typedef struct nadir_model_data {
    size_t size;
    int64_t states;              /* S, 1 or more and below 2^31 */
    int64_t rows;                /* the number of pairs (s, a) */
    int64_t nonzeros;            /* output: the number of transitions of positive probability */
    double discount;             /* gamma in [0, 1); NaN: not known */
    const int64_t *state_rows;   /* [states + 1] first row of each state; every state has at least one row */
    const int32_t *row_actions;  /* [rows] action numbers, rising within a state; NULL: 0, 1, 2, ... */
    const double *dense;         /* [rows * states] probabilities, row after row */
    const int64_t *row_starts;   /* [rows + 1] first transition of each row */
    const int32_t *columns;      /* [nonzeros] successors; output: rising within a row */
    const double *probabilities; /* [nonzeros] output: positive */
    const double *rewards;       /* [rows]; NULL: none known */
    const double *transition_rewards; /* [nonzeros] or, with dense, [rows * states]; NULL: not kept */
    const double *initial;            /* [states] mu; input NULL: uniform; output never NULL */
    const double *scales;             /* [rows] alpha >= 0, 0 pins a row; NULL: all one */
    const char *const *state_names;   /* [states]; NULL: none. Output: use nadir_model_state_name */
    const char *const *action_names;  /* [action_names_count] by action number; NULL: none */
    int64_t action_names_count;
    const double *radius; /* [radius_count] default of --radius: one, one per state or one per row; or NULL */
    int64_t radius_count;
    double norm; /* default of --norm; NaN: unsaid */
    nadir_set set;
    nadir_domain domain;
} nadir_model_data;

NADIR_API void nadir_model_data_fill(nadir_model_data *data, size_t size);
static inline void nadir_model_data_default(nadir_model_data *data)
{
    nadir_model_data_fill(data, sizeof *data);
}

/*
 * Copies the arrays of `data` and checks them. Rows, and `initial`, that sum to one within 1e-5 are
 * normalised (rows that are off by rounding only keep their bits); duplicate transitions of a row add up;
 * zeros are dropped; `transition_rewards`, where given, replace `rewards` by their mean over each row.
 * Anything else wrong is NADIR_ERROR_MODEL, and the error names state and action.
 */
NADIR_API nadir_status nadir_model_create(nadir_context *context, const nadir_model_data *data,
                                          nadir_model **model);

/* Tells the caller that what was lent is not needed any more. */
typedef void (*nadir_release_function)(void *user);

/*
 * The same model, to the bit, without copying a kernel that needs no repair: `dense`, or `columns` and
 * `probabilities`, are then used where they lie, and must neither change nor go until release(user) is
 * called, by whichever thread gives up the model last (solvers are owners, too). All other arrays are copied.
 * The kernel is copied after all, and release called before the return, where its rows have to be normalised
 * (sums off by more than rounding), sorted, merged or rid of zeros, or where another storage suits its
 * density: a dense one that is less than a quarter full, a sparse one that is half full or more. Where the
 * call fails release is not called; it may be NULL.
 */
NADIR_API nadir_status nadir_model_borrow(nadir_context *context, const nadir_model_data *data,
                                          nadir_release_function release, void *user, nadir_model **model);

/* Another owner of the same model; each owner calls nadir_model_free once. */
NADIR_API nadir_model *nadir_model_retain(nadir_model *model);
NADIR_API void nadir_model_free(nadir_model *model);

/* The numbers inside, valid as long as the model is. data->size must be set (nadir_model_data_default). */
NADIR_API void nadir_model_view(const nadir_model *model, nadir_model_data *data);

/* Names as given by the file; NULL when it gave none. */
/* Of a model that an engine has spread over processes: how many states, rows and transitions there are in
 * all; nadir_model_view tells of this process's part. Every process calls at once. */
NADIR_API nadir_status nadir_model_totals(nadir_context *context, const nadir_model *model, int64_t *states,
                                          int64_t *rows, int64_t *nonzeros);

NADIR_API const char *nadir_model_state_name(const nadir_model *model, int64_t state);
NADIR_API const char *nadir_model_action_name(const nadir_model *model, int64_t row);

/* What is worth knowing about a model before anything is solved. */
typedef struct nadir_model_facts {
    size_t size;
    int64_t states, rows, nonzeros;
    int64_t actions_min, actions_max; /* over states */
    double density;                   /* nonzeros / (rows * states) */
    double reward_min, reward_max;    /* NaN: no rewards */
    double discount;                  /* NaN: unknown */
    double valid_radius;              /* nadir_model_valid_radius at norm 2 */
    int64_t terminal_states;          /* one pinned row that stays, reward 0: states without actions */
    int64_t absorbing_states;         /* stay for ever under every action; terminal ones included */
    int64_t unreachable_states;       /* no policy reaches them from the initial distribution */
    int64_t pinned_rows;              /* rows of scale 0 */
    int64_t bytes;                    /* memory its numbers take */
} nadir_model_facts;

/* No facts yet: zeros, and the size. */
NADIR_API void nadir_model_facts_fill(nadir_model_facts *facts, size_t size);
static inline void nadir_model_facts_default(nadir_model_facts *facts)
{
    nadir_model_facts_fill(facts, sizeof *facts);
}

/* facts->size must be set (nadir_model_facts_default). */
NADIR_API nadir_status nadir_model_facts_compute(nadir_context *context, const nadir_model *model,
                                                 nadir_model_facts *facts);

/* The largest radius whose non-rectangular L_p ball, p = norm in [1, infinity], holds no kernel with a
 * negative entry. Zero when a row that is not pinned has a zero; infinity when nothing can move. */
NADIR_API nadir_status nadir_model_valid_radius(nadir_context *context, const nadir_model *model, double norm,
                                                double *radius);

/* SHA-256 over the numbers of the model (not its names, nor the way it is stored), as 64 hexadecimal digits:
 * the same model has the same digest whichever file it came from. */
NADIR_API nadir_status nadir_model_digest(nadir_context *context, const nadir_model *model, char digest[65]);

/* ---------------------------------------------------------------------------------------------------------
 * Policy: the probability of each row of a model, given its state
 */
typedef struct nadir_policy nadir_policy;

/* probabilities: [rows]; those of a state sum to one within 1e-5 and are normalised. Copied. */
NADIR_API nadir_status nadir_policy_create(nadir_context *context, const nadir_model *model,
                                           const double *probabilities, nadir_policy **policy);
/* The same chance for every action of a state. */
NADIR_API nadir_status nadir_policy_create_uniform(nadir_context *context, const nadir_model *model,
                                                   nadir_policy **policy);
/* actions: [states] action numbers. */
NADIR_API nadir_status nadir_policy_create_deterministic(nadir_context *context, const nadir_model *model,
                                                         const int64_t *actions, nadir_policy **policy);
NADIR_API void nadir_policy_free(nadir_policy *policy);
/* [rows], valid as long as the policy is. */
NADIR_API const double *nadir_policy_probabilities(const nadir_policy *policy);
NADIR_API nadir_status nadir_policy_digest(nadir_context *context, const nadir_policy *policy,
                                           char digest[65]);

/* ---------------------------------------------------------------------------------------------------------
 * Files
 *
 * The format of a model file is told by its content, then by its ending; see docs/formats.md. Files are
 * written whole or not at all.
 */
typedef enum nadir_layout {
    NADIR_LAYOUT_AUTO = 0, /* by shape; when it fits both: an error that asks */
    NADIR_LAYOUT_SAS,      /* P[s, a, s'] */
    NADIR_LAYOUT_ASS       /* P[a, s, s'] */
} nadir_layout;

typedef struct nadir_read_settings {
    size_t size;
    const char *rewards;          /* companion file with rewards (PRISM .trew or .srew, PETSc g.bin) */
    const char *labels;           /* companion file with labels (PRISM .lab): `init` gives mu */
    const char *reward_model;     /* which reward model of a Storm file */
    const char *initial;          /* "uniform", a state's number or name, or a file; NULL: the model's own */
    double discount;              /* gives or overrides gamma; NaN: the file's */
    bool costs;                   /* rewards are costs: negate them */
    nadir_layout layout;          /* of a dense NumPy kernel */
    bool keep_transition_rewards; /* do not only average them into their row */
} nadir_read_settings;

NADIR_API void nadir_read_settings_fill(nadir_read_settings *settings, size_t size);
static inline void nadir_read_settings_default(nadir_read_settings *settings)
{
    nadir_read_settings_fill(settings, sizeof *settings);
}

/* settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_model_read(nadir_context *context, const char *path,
                                        const nadir_read_settings *settings, nadir_model **model);

/* The name of the format of a file ("csv", "npz", "prism", "drn", "cassandra", "petsc"). */
NADIR_API nadir_status nadir_file_format(nadir_context *context, const char *path, const char **name);

/* The name of the format in which a model would be written to this path: its ending tells.
 * NADIR_ERROR_UNSUPPORTED when it does not. */
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

/* The ending of `path` chooses the format. What the format cannot hold is said in one warning; a model that
 * it cannot hold at all is NADIR_ERROR_UNSUPPORTED. settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_model_write(nadir_context *context, const nadir_model *model, const char *path,
                                         const nadir_write_settings *settings);

/* CSV `idstate,idaction,probability`, or .npy: (S, A) probabilities, S action numbers, or one probability
 * per row. */
NADIR_API nadir_status nadir_policy_read(nadir_context *context, const nadir_model *model, const char *path,
                                         nadir_policy **policy);
NADIR_API nadir_status nadir_policy_write(nadir_context *context, const nadir_model *model,
                                          const nadir_policy *policy, const char *path);

/* With 15, 16 or 17 digits, the fewest that read back to the same double, whatever the locale; returns the
 * length. */
NADIR_API int nadir_format_double(double value, char text[32]);

/* ---------------------------------------------------------------------------------------------------------
 * Generators of standard instances; see docs/generators.md
 *
 * What a member means depends on the kind: nadir_generator says which ones a kind uses, with their defaults.
 * The rest must be left unset: 0 where it is a whole number, NaN where it is not. The seed may always be set;
 * only the random kinds look at it, and the same seed gives them the same bits on every platform.
 */
typedef struct nadir_generate_settings {
    size_t size;
    int64_t states;
    int64_t actions;
    int64_t branch; /* successors of each row */
    int64_t width;
    int64_t height;
    double slip;     /* chance that an action goes astray */
    double discount; /* gamma in [0, 1), used by every kind; outside: NADIR_ERROR_ILL_POSED */
    uint64_t seed;
    int64_t capacity;    /* largest stock */
    int64_t demand;      /* largest demand of a period */
    double reward;       /* what the best place pays */
    double small_reward; /* what the easy way pays */
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

/* Sets a member by its name, with '-' for '_'. NADIR_ERROR_ARGUMENT: there is none of this name, or it cannot
 * have this value for any kind. The seed, which has 64 bits, is not among them. */
NADIR_API nadir_status nadir_generate_settings_set(nadir_context *context, nadir_generate_settings *settings,
                                                   const char *name, double value);

/* kind: "random", "garnet", "riverswim", "machine", "inventory", "forest", "gridworld". A setting that the
 * kind does not use, or that is out of range, is NADIR_ERROR_ARGUMENT. settings may be NULL for the defaults.
 */
NADIR_API nadir_status nadir_model_generate(nadir_context *context, const char *kind,
                                            const nadir_generate_settings *settings, nadir_model **model);

/* A setting as one kind uses it. */
typedef struct nadir_generator_setting {
    const char *name; /* as for nadir_generate_settings_set */
    const char *meaning;
    double standard; /* what it is when unset; NaN: depends on the others, as `meaning` says */
    double lowest;   /* the range it may have, ends included; -infinity to infinity: any finite number */
    double highest;
} nadir_generator_setting;

typedef struct nadir_generator_facts {
    const char *name;
    const char *summary; /* half a line */
    const char *source;  /* where it was described */
    bool random;         /* depends on the seed */
    double discount;     /* what it is when unset */
    int64_t settings_count;
    const nadir_generator_setting *settings; /* [settings_count] those it uses besides discount and seed */
} nadir_generator_facts;

/* The kinds, index = 0, 1, ...; NULL past the last. */
NADIR_API const nadir_generator_facts *nadir_generator(int64_t index);

/* ---------------------------------------------------------------------------------------------------------
 * Nominal solution: what a policy is worth on the kernel as it stands, and the best policy for it
 *
 * The model must have a discount and rewards (NADIR_ERROR_MODEL otherwise). Every result is a number with
 * bounds, lower_bound <= truth <= upper_bound, that include all rounding.
 *
 * Backends solve the linear systems: "lapack" (dense LU), "klu" (sparse LU), "krylov" (iterative, needs
 * little memory); "auto" chooses by size and sparsity.
 */
typedef struct nadir_solver nadir_solver;

typedef struct nadir_solver_settings {
    size_t size;
    const char *backend; /* NULL: auto */
    double tolerance;    /* of iterative backends, relative to the largest entry of what is solved for;
                            default 1e-12 */
} nadir_solver_settings;

NADIR_API void nadir_solver_settings_fill(nadir_solver_settings *settings, size_t size);
static inline void nadir_solver_settings_default(nadir_solver_settings *settings)
{
    nadir_solver_settings_fill(settings, sizeof *settings);
}

/* Factors the system of one policy once, for everything that is asked of it later. Keeps the model alive and
 * the policy's numbers. settings may be NULL for the defaults. */
NADIR_API nadir_status nadir_solver_create(nadir_context *context, nadir_model *model,
                                           const nadir_policy *policy, const nadir_solver_settings *settings,
                                           nadir_solver **solver);
NADIR_API void nadir_solver_free(nadir_solver *solver);

typedef struct nadir_nominal {
    size_t size;
    double nominal_return; /* J = mu . v */
    double lower_bound, upper_bound;
    bool certified;           /* the bounds were made from the rows of the kernel alone, apart from the
                                 solver, and they are close: within 1e-6 of the largest value */
    double residual;          /* max over s of |R^pi + gamma P^pi v - v|, rounding included */
    double return_difference; /* |mu . v - d . R^pi|, which would be 0 without errors */
    double kernel_minimum;    /* smallest entry of the kernel */
    const char *backend;      /* the one that was used */
    int64_t solves;           /* right-hand sides so far */
    int64_t iterations;       /* of iterative backends so far: products with the kernel or its transpose */
    int64_t memory;           /* bytes that the backend holds */
    double seconds_factor;    /* averaging over the policy and factoring */
    double seconds_solve;
    double seconds_check;
} nadir_nominal;

/* result->size must be set: nadir_nominal result = {.size = sizeof result}. Solves once; later calls give the
 * same again. `context` is the one the solver was created with, here and below. */
NADIR_API nadir_status nadir_solver_nominal(nadir_context *context, nadir_solver *solver,
                                            nadir_nominal *result);

/* Copies, of what nadir_solver_nominal found (solving first if need be): value v [states], occupancy
 * d = sum over time of gamma^time P(state at that time) [states], and Q(s, a) = R + gamma P v [rows]. */
NADIR_API nadir_status nadir_solver_value(nadir_context *context, nadir_solver *solver, double *value);
NADIR_API nadir_status nadir_solver_occupancy(nadir_context *context, nadir_solver *solver,
                                              double *occupancy);
NADIR_API nadir_status nadir_solver_q(nadir_context *context, nadir_solver *solver, double *q);

/* Many policies at once: returns[i] = mu . v of policy i, errors[i] a bound on how far it is off, residual
 * and rounding included (infinity: there is none). probabilities: [count * rows], policy after policy, each
 * checked and normalised as by nadir_policy_create; NADIR_ERROR_POLICY names policy, state and action of the
 * first that is none, before anything is solved. returns: [count]; errors: [count], or NULL; what is in them
 * after a failure means nothing. settings may be NULL for the defaults. Threads share the policies of small
 * models; an engine with a device evaluates those of models up to 512 states thousands at a time. */
NADIR_API nadir_status nadir_returns(nadir_context *context, nadir_model *model, int64_t count,
                                     const double *probabilities, const nadir_solver_settings *settings,
                                     double *returns, double *errors);

typedef struct nadir_optimum_settings {
    size_t size;
    const char *backend;      /* NULL: auto */
    double tolerance;         /* the optimum of every state is known to this, relative to the largest;
                                 default 1e-9 */
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
    double lower_bound;      /* of the optimum, and of the return of the policy found */
    double upper_bound;      /* of the optimum: no policy does better */
    double residual;         /* the range, over states, of what one more sweep would add to the values */
    const char *stop_reason; /* "tolerance"; "stable": no action can be improved, even by rounding;
                                "iterations": the limit */
    const char *backend;     /* the one that was used; NULL: none was needed */
    int64_t iterations;      /* policies whose value was solved for */
    int64_t sweeps;          /* passes over all rows */
    int64_t solves;
    int64_t products; /* of iterative backends: with the kernel under a policy */
    double seconds;
} nadir_optimum_result;

/* The best policy, deterministic, and its return. result->size must be set; settings may be NULL for the
 * defaults. NADIR_ERROR_NOT_CONVERGED: if *policy is not NULL the limit was reached, and this is the best
 * policy so far with its bounds. */
NADIR_API nadir_status nadir_optimum(nadir_context *context, nadir_model *model,
                                     const nadir_optimum_settings *settings, nadir_policy **policy,
                                     nadir_optimum_result *result);

/* ---------------------------------------------------------------------------------------------------------
 * Robust evaluation: what a policy is worth when the kernel may be any of a ball around the nominal one
 *
 * The ball: with p = norm, alpha the scales of the rows and beta the radius, all kernels whose rows sum to
 * one, lie in the domain, and
 *
 *     nonrect    sum over all rows of (|P_sa - Phat_sa|_p / alpha_sa)^p <= beta^p
 *     s          the same for the rows of each state, with its own beta_s
 *     sa         |P_sa - Phat_sa|_p <= alpha_sa beta_sa for each row
 */
typedef struct nadir_ball {
    size_t size;
    nadir_set set;        /* unsaid: the model's, else nonrect */
    nadir_domain domain;  /* unsaid: the model's, else simplex */
    double norm;          /* 1 to infinity; NaN: the model's, else 2 */
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
    NADIR_CERTIFY_OFF,   /* no proof: the lower bound is the cheapest there is */
    NADIR_CERTIFY_AUTO,  /* proofs of a cost in proportion to the search */
    NADIR_CERTIFY_STRICT /* every proof there is; the kernel found is factored anew; breakdown exactly */
} nadir_certify;

typedef struct nadir_robust_settings {
    size_t size;
    const char *method;       /* NULL: "auto"; nadir_method_name has the others, docs/methods.md explains */
    nadir_certify certify;    /* default auto */
    double tolerance;         /* of the value, relative to the penalty; default 1e-9 */
    double width;             /* bounds closer than this share of the penalty are called certified; default
                                 1e-6 */
    int64_t iterations_limit; /* of the search, or samples; default 10000 */
    bool optimistic;          /* the best case instead of the worst */
} nadir_robust_settings;

NADIR_API void nadir_robust_settings_fill(nadir_robust_settings *settings, size_t size);
static inline void nadir_robust_settings_default(nadir_robust_settings *settings)
{
    nadir_robust_settings_fill(settings, sizeof *settings);
}

/* lower_bound <= worst return over the ball <= upper_bound (for the best case likewise). */
typedef struct nadir_robust {
    size_t size;
    double nominal_return;
    double robust_return; /* of the kernel found, which lies in the ball */
    double penalty;       /* nominal_return - robust_return; negative for the best case */
    double lower_bound, upper_bound;
    bool certified;          /* both bounds were made by other code than the search, and they are close */
    bool kernel_valid;       /* the kernel found has no negative entry */
    const char *certificate; /* "rigorous": rounding and all; "numerical": rests on converged iterations;
                                "none" */
    const char *bound;       /* the proof that gave the better bound: see docs/robust.md */
    double kappa;            /* of the second-order proof; NaN: not made */
    double stationarity_gap; /* what one more linear step would promise; NaN: not of this method */
    nadir_set set;
    nadir_domain domain;
    double norm;
    double radius;           /* the largest, where there are many */
    const char *method;      /* that found the kernel */
    const char *stop_reason; /* "tolerance", "stable", "slow", "iterations", ...: docs/solving.md */
    int64_t iterations;
    int64_t solves;           /* right-hand sides, proof included */
    double breakdown_radius;  /* free domain: no kernel of a smaller ball is singular; NaN elsewhere */
    double valid_radius;      /* no kernel of a smaller ball has negative entries */
    double kernel_minimum;    /* the smallest entry of the kernel found */
    double residual;          /* of the nominal value, as the backend's system has it */
    double return_difference; /* |mu . v - d . R^pi| of the nominal solution */
    const char *backend;
    int64_t backend_memory; /* bytes that it holds */
    double seconds_nominal; /* averaging, factoring, and the nominal value and occupancy */
    double seconds_robust;  /* from the nominal solution to the kernel and its return */
    double seconds_certify; /* bounds and proofs */
} nadir_robust;

/* The worst kernel found, with what it takes to check it again. */
typedef struct nadir_worst nadir_worst;

/* result->size must be set. ball and settings may be NULL for the defaults; worst may be NULL.
 * NADIR_ERROR_ILL_POSED: free domain, and a radius at or past breakdown. NADIR_ERROR_NOT_CONVERGED: if
 * result->stop_reason is not NULL it holds the best found so far, with its bounds. */
NADIR_API nadir_status nadir_solver_robust(nadir_context *context, nadir_solver *solver,
                                           const nadir_ball *ball, const nadir_robust_settings *settings,
                                           nadir_robust *result, nadir_worst **worst);

/* The same for `count` radii at once: the radius, or all radii, of the ball times factors[i]; results:
 * [count], each with its size set. Much cheaper than one after the other: linear systems are solved together,
 * or searches start from the answers of neighbours. On the free domain a radius at or past breakdown has the
 * stop_reason "breakdown", a return of NaN, and in breakdown_radius where that is, or a radius where it has
 * happened; NADIR_ERROR_ILL_POSED when there is no other. */
NADIR_API nadir_status nadir_solver_robust_many(nadir_context *context, nadir_solver *solver,
                                                const nadir_ball *ball, const nadir_robust_settings *settings,
                                                int64_t count, const double *factors, nadir_robust *results);

/*
 * Two policies under the same kernel: the worst case, over the ball, of the return of A less that of B. A
 * kernel that is bad for one need not be the one that is good for the other, so that it lies above worst(A) -
 * best(B). lower_bound <= min over P of J^A_P - J^B_P <= upper_bound. (optimistic: the maximum instead.)
 */
typedef struct nadir_difference {
    size_t size;
    double nominal; /* J^A - J^B under the nominal kernel */
    double worst;   /* under the kernel found, which lies in the ball */
    double lower_bound, upper_bound;
    bool certified;          /* the bounds are proven, and closer than `width` times |nominal - worst| */
    const char *certificate; /* of the better bound: "rigorous", "numerical", "none" */
    const char *bound;       /* "second-order", "first-order", "decoupled", ...: see docs/robust.md */
    double decoupled_bound;  /* worst(A) - best(B), both certified apart; infinite: nothing is known */
    double kappa;            /* of the second-order proof, at most 1/2 where it is complete; NaN: not made */
    double stationarity_gap; /* what one more linear step would promise */
    const char *method;
    const char *stop_reason;
    int64_t iterations; /* of all searches */
    double kernel_minimum;
    double seconds_search;
    double seconds_certify; /* bounds and proofs */
} nadir_difference;

/* Both solvers are of the same model. result->size must be set; ball and settings may be NULL for the
 * defaults (method is not used); worst, the kernel found, may be NULL; it has no witness.
 * NADIR_ERROR_UNSUPPORTED: nothing finite can be proven, or the model is too large: rows of any length
 * have to be written out (domain support: no limit). NADIR_ERROR_ILL_POSED and NADIR_ERROR_NOT_CONVERGED as
 * above. */
NADIR_API nadir_status nadir_solver_difference(nadir_context *context, nadir_solver *a, nadir_solver *b,
                                               const nadir_ball *ball, const nadir_robust_settings *settings,
                                               nadir_difference *result, nadir_worst **worst);

/* How large a ball may be before the worst return falls below a target. */
typedef struct nadir_radius {
    size_t size;
    double target;
    double nominal_return;
    double radius;       /* where the return of the worst kernel found is the target; infinity: nowhere, and
                            stop_reason says why */
    double radius_lower; /* proven: every kernel of this ball returns the target or more */
    double radius_upper; /* proven: some kernel of this ball returns less; infinity where there is none */
    bool certified;      /* they are within settings->width of each other, relative to the radius */
    const char *certificate; /* of radius_lower: "rigorous", "numerical" or "none" (then it is 0) */
    const char *stop_reason; /* "tolerance"; "iterations"; "domain": no kernel of the domain returns less;
                                "breakdown": no kernel of a ball below breakdown does */
    nadir_set set;
    nadir_domain domain;
    double norm;
    double breakdown_radius, valid_radius; /* as in nadir_robust */
    int64_t evaluations;                   /* at one radius each */
    int64_t solves;
    const char *backend;
    double seconds_nominal, seconds_robust, seconds_certify;
} nadir_radius;

/* The largest radius whose worst return is still `target` or more (with settings->optimistic: whose best
 * return is still `target` or less), to settings->tolerance, relative. The ball's radius, if it has one, only
 * says how the radii of states or rows compare, and results are the largest of them. NADIR_ERROR_ILL_POSED:
 * the nominal kernel alone does not meet the target. result->size must be set. */
NADIR_API nadir_status nadir_solver_radius(nadir_context *context, nadir_solver *solver,
                                           const nadir_ball *ball, const nadir_robust_settings *settings,
                                           double target, nadir_radius *result);

NADIR_API void nadir_worst_free(nadir_worst *worst);

/* The files that the model and the policy were read from, and the one that the kernel was written to: the
 * digests of their bytes go into what is written from then on, and nadir_verify compares them. NULL: unsaid;
 * what was said before stays. */
NADIR_API nadir_status nadir_worst_set_files(nadir_context *context, nadir_worst *worst, const char *model,
                                             const char *policy, const char *kernel);

/* The kernel to a file: .npz with b (per row) and k for kernels Phat - b k^T, the rows otherwise; any other
 * ending: the whole model with this kernel (NADIR_ERROR_UNSUPPORTED if it has negative entries). */
NADIR_API nadir_status nadir_worst_write(nadir_context *context, const nadir_worst *worst, const char *path);
/* The numbers that prove the bounds, as JSON. */
NADIR_API nadir_status nadir_worst_write_witness(nadir_context *context, const nadir_worst *worst,
                                                 const char *path);
/* y[row] = sum over t of P(t|row) x[t] of the kernel found; x: [states], y: [rows]. */
NADIR_API void nadir_worst_multiply(nadir_context *context, const nadir_worst *worst, const double *x,
                                    double *y);
/* The model with this kernel instead of the nominal one. NADIR_ERROR_UNSUPPORTED with negative entries. */
NADIR_API nadir_status nadir_worst_model(nadir_context *context, const nadir_worst *worst,
                                         nadir_model **model);

/*
 * Who does the damage. With d the nominal occupancy and v_P the value under the kernel P found,
 *
 *     nominal return - return of P = sum over rows of gamma d(s) pi(a|s) (Phat_sa - P_sa) . v_P
 *
 * exactly: every row carries its term of the penalty.
 */
typedef struct nadir_damage {
    size_t size;
    int64_t state, row, action;
    double penalty;      /* the row's term; those of all rows add up to the penalty */
    double share;        /* of the sum: they add up to 1 (0 where nothing changes) */
    double mass;         /* probability moved: half the L_1 change of the row */
    int64_t from, to;    /* the successors that lose and gain most */
    double lost, gained; /* how much */
} nadir_damage;

/* damages: [count], each with its size set; the first *found of them are filled, largest share first: there
 * are no more when fewer rows changed. *changed: how many did. *penalty: the sum over all rows. */
NADIR_API nadir_status nadir_worst_explain(nadir_context *context, const nadir_worst *worst, int64_t count,
                                           nadir_damage *damages, int64_t *found, int64_t *changed,
                                           double *penalty);

/* The gradient of the worst (or best) return in the probabilities of the policy: d_P(s) Q_P(s, a) at the
 * kernel found (Danskin), gradient: [rows]. Where several kernels are equally bad it is one of several
 * subgradients. */
NADIR_API nadir_status nadir_worst_gradient(nadir_context *context, const nadir_worst *worst,
                                            double *gradient);
/* The same number from the nominal value, occupancy and Q alone, by the paper's formula of four terms, for
 * kernels Phat - b k^T (free domain); NADIR_ERROR_UNSUPPORTED for others. */
NADIR_API nadir_status nadir_worst_gradient_nominal(nadir_context *context, const nadir_worst *worst,
                                                    double *gradient);

/* ---------------------------------------------------------------------------------------------------------
 * The robust policy: max over policies of the worst return over the ball
 *
 * No policy's worst return is above the optimum V*(P) of any one kernel P >= 0 of the ball: that is the upper
 * bound, from the kernels that the search has met and mixtures of them. The lower bound is that of the robust
 * evaluation of the policy found.
 */
typedef struct nadir_robust_optimum_step {
    size_t size;
    int64_t iteration;
    int64_t evaluations;
    double robust_return; /* of the policy at hand */
    double gap;           /* at least: what policies at first order promise, relative; falls with the work */
    double seconds;
} nadir_robust_optimum_step;

/* After every step; a nonzero return stops the search as an interruption does. */
typedef int (*nadir_robust_optimum_watch)(void *user, const nadir_robust_optimum_step *step);

typedef struct nadir_robust_optimum_settings {
    size_t size;
    const char *method;  /* NULL or "auto"; "quasi-newton", "spectral": projected gradients; "paper": its
                            Algorithm 3; "bellman": robust policy iteration, rectangular sets alone */
    const char *backend; /* NULL: auto */
    double gap;          /* wanted between the bounds, relative to the larger of the nominal optimum and
                            the robust return; default 1e-6 */
    int64_t evaluations_limit; /* policies whose worst kernel is looked for; default 1000 */
    double time_limit;         /* seconds; default infinity */
    double step;           /* of method paper: alpha of all its steps, 0 (default): (1 - gamma) / (range of
                              rewards) */
    nadir_certify certify; /* of the last evaluation; default auto */
    const nadir_policy *start; /* NULL: the nominal optimum */
    const char *checkpoint;    /* a file that is kept up to date, whole at every moment; NULL: none */
    double checkpoint_seconds; /* at least so long between two; default 1; 0: after every step */
    const char *resume; /* a checkpoint to go on from, of the same model, ball and method; NULL: none */
    nadir_robust_optimum_watch watch; /* NULL: none */
    void *watch_user;
} nadir_robust_optimum_settings;

NADIR_API void nadir_robust_optimum_settings_fill(nadir_robust_optimum_settings *settings, size_t size);
static inline void nadir_robust_optimum_settings_default(nadir_robust_optimum_settings *settings)
{
    nadir_robust_optimum_settings_fill(settings, sizeof *settings);
}

typedef struct nadir_robust_optimum_result {
    size_t size;
    double nominal_optimum;        /* the best return on the nominal kernel */
    double initial_robust_return;  /* the worst return of the policy that the search began with */
    double robust_return;          /* the worst return of the policy found */
    double nominal_return;         /* on the nominal kernel; NaN: interrupted before that was known */
    double lower_bound;            /* proven: its worst return is not below */
    double optimality_upper_bound; /* proven: no policy's worst return is above */
    double optimality_gap;         /* optimality_upper_bound - lower_bound */
    bool certified;                /* the evaluation of the policy is, and the gap is as small as wanted */
    const char *certificate;       /* "rigorous", "numerical" or "none": of the weaker of both bounds */
    const char *method;
    const char *stop_reason; /* "gap": the search has closed it; whether it is proven, `certified` tells;
                                "stationary": nothing is left to improve, and the bounds have not met;
                                "evaluations", "time", "interrupted" */
    int64_t iterations;      /* steps of the policy */
    int64_t evaluations;
    int64_t stochastic_states; /* where the policy has more than one action */
    int64_t mixed_kernels;     /* that the kernel of the upper bound is a mixture of; 1: none */
    double seconds_nominal;    /* the nominal optimum */
    double seconds_search;
    double seconds_certify; /* the last evaluation, with its proof, and upper bounds */
} nadir_robust_optimum_result;

/* The best policy against the ball. ball and settings may be NULL for the defaults; result->size must be set,
 * and evaluation->size if evaluation, the robust evaluation of the policy found, is not NULL; worst may be
 * NULL. NADIR_ERROR_NOT_CONVERGED, NADIR_ERROR_INTERRUPTED: if *policy is not NULL it is the best so far,
 * with bounds that hold for it. NADIR_ERROR_ILL_POSED: free domain, and every policy that was tried breaks
 * down. */
NADIR_API nadir_status nadir_robust_optimum(nadir_context *context, nadir_model *model,
                                            const nadir_ball *ball,
                                            const nadir_robust_optimum_settings *settings,
                                            nadir_policy **policy, nadir_robust_optimum_result *result,
                                            nadir_robust *evaluation, nadir_worst **worst);

/* ---------------------------------------------------------------------------------------------------------
 * From data to a ball: a model whose ball holds the true kernel with a given confidence; see docs/fit.md
 *
 * Every row (s, a) that was visited N times gets the posterior Dirichlet(a + n_t) over its allowed successors
 * t, n_t of them seen; the nominal kernel is its mean. The radius is that share of the posterior, or of
 * estimates from bootstrap data, or a bound that holds for every kernel, as the method says.
 */
typedef struct nadir_fit_settings {
    size_t size;
    double confidence;    /* that the ball holds the true kernel, in (0, 1); default 0.95 */
    const char *method;   /* NULL: "posterior"; "bootstrap"; "distribution-free" */
    double prior;         /* weight of the prior of each row, in observations, spread evenly over its allowed
                             successors; NaN: 2, or 0 for distribution-free */
    double concentration; /* the same for each successor instead: Dirichlet(a); NaN: `prior` counts */
    const char *successors; /* which are possible: NULL or "all": every state, domain simplex; "seen" or a
                               file of transitions: no others, domain support. Posterior samples: those that
                               some outcome has, unless "all" */
    const char *unvisited;  /* rows without data: NULL or "uniform": any distribution may be true; "pin":
                               uniform, taken for known; "absorb": stays for ever at the lowest reward */
    const char *scales;     /* of rows: "ones", "deviation", "occupancy", "sensitivity"; NULL or "auto": the
                               one with the best guarantee (without rewards and discount: deviation) */
    double norm;            /* 1 to infinity; default 2 */
    nadir_set set;          /* of the ball that goes into the model; default nonrect */
    double discount;        /* of the model; NaN: not known */
    const char *initial;    /* as in nadir_read_settings; NULL: how episodes began, else uniform */
    bool costs;             /* rewards are costs: negate them */
    int64_t states;         /* 0: one more than the largest number in the data */
    int64_t actions;        /* of every state, likewise */
    bool ragged;            /* each state has its own number of actions, those seen there */
    int64_t samples;        /* kernels to draw; 0: 10000, fewer but at least 1000 for large models */
} nadir_fit_settings;

NADIR_API void nadir_fit_settings_fill(nadir_fit_settings *settings, size_t size);
static inline void nadir_fit_settings_default(nadir_fit_settings *settings)
{
    nadir_fit_settings_fill(settings, sizeof *settings);
}

/* Data, read, with the posterior that they give. */
typedef struct nadir_fit nadir_fit;

/* path: a CSV table or a NumPy array of transitions, counts, trajectories or posterior samples, told by its
 * columns (docs/fit.md); "-": standard input. settings may be NULL for the defaults, and are kept. */
NADIR_API nadir_status nadir_fit_read(nadir_context *context, const char *path,
                                      const nadir_fit_settings *settings, nadir_fit **fit);
NADIR_API void nadir_fit_free(nadir_fit *fit);
/* The nominal kernel with rewards, discount and initial distribution, and no ball; valid as long as the fit
 * is. */
NADIR_API nadir_model *nadir_fit_nominal(const nadir_fit *fit);

/* What a ball that holds the true kernel promises of a policy. */
typedef struct nadir_fit_guarantee {
    nadir_set set;
    const char *scales;   /* of rows; of rectangular sets: "" */
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
    int64_t rows_known;   /* pinned: one possible successor, or without data and taken for known */
    int64_t observations; /* lines of the data that hold one */
    double total;         /* sum of their counts */
    int64_t episodes;     /* 0: not known */
    double visits_min;    /* of the rows that were visited */
    double visits_median;
    const char *method;
    double confidence;
    double prior;    /* of a row; NaN: by successor, or samples were given */
    int64_t samples; /* kernels drawn or given; 0: distribution-free */
    nadir_domain domain;
    double norm;
    double nominal_return;    /* of the policy; NaN: no rewards or discount */
    int64_t chosen;           /* place in candidates */
    int64_t candidates_count; /* choices of scales that were looked at */
    nadir_fit_guarantee candidates[NADIR_FIT_SCALES];
    nadir_fit_guarantee sets[3]; /* nonrect (that chosen), s, sa, each at the same confidence */
    double seconds_radii;
    double seconds_guarantees;
} nadir_fit_result;

/* The model with the ball in it. policy: of the model nadir_fit_nominal, decides scales and guarantees; NULL:
 * the nominal optimum. result->size must be set. */
NADIR_API nadir_status nadir_fit_model(nadir_context *context, nadir_fit *fit, const nadir_policy *policy,
                                       nadir_fit_result *result, nadir_model **model);

/* ---------------------------------------------------------------------------------------------------------
 * Verification: what the files of a robust evaluation promise, checked again without searching
 */
typedef struct nadir_verify_settings {
    size_t size;
    const char *kernel;  /* the kernel file, .npz; needed */
    const char *witness; /* NULL: the kernel alone */
    const char
        *model_file; /* the files that model and policy were read from, whose bytes are compared with */
    const char *policy_file; /* those of the evaluation; NULL: their numbers alone */
    const char *backend;     /* NULL: auto */
} nadir_verify_settings;

NADIR_API void nadir_verify_settings_fill(nadir_verify_settings *settings, size_t size);
static inline void nadir_verify_settings_default(nadir_verify_settings *settings)
{
    nadir_verify_settings_fill(settings, sizeof *settings);
}

/* What was found; numbers are those made anew, not those of the files. NaN, NULL: not looked at. */
typedef struct nadir_verify_result {
    size_t size;
    bool verified; /* all checks hold */
    int64_t checks_count;
    nadir_set set;
    nadir_domain domain;
    double norm;
    double radius; /* the largest, where there are many */
    bool optimistic;
    bool scaled; /* rows have scales: the kernel file's own or, where it has none, the model's */
    double nominal_return;
    double return_low, return_high; /* of the kernel */
    double bound_proven;            /* on the worst case over the ball (best case: on the best) */
    const char *certificate;        /* of that: as in nadir_robust */
} nadir_verify_result;

/* One thing that should hold. */
typedef struct nadir_verify_check {
    const char *name; /* "kernel_file", "model", "distance", "lower_bound", ... */
    bool holds;
    const char *detail; /* a sentence with what was found */
} nadir_verify_check;

typedef struct nadir_verification nadir_verification;

/* NADIR_ERROR_VERIFICATION: something does not hold; result and *verification are there as with NADIR_OK.
 * Other failures (a file that cannot be read, say) leave *verification alone. result->size must be set; model
 * and policy are those at hand. */
NADIR_API nadir_status nadir_verify(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                                    const nadir_verify_settings *settings, nadir_verify_result *result,
                                    nadir_verification **verification);
/* The checks in the order they were made, index = 0, 1, ...; NULL past the last. */
NADIR_API const nadir_verify_check *nadir_verification_check(const nadir_verification *verification,
                                                             int64_t index);
NADIR_API void nadir_verification_free(nadir_verification *verification);

/* Numbers from a file, one for each state or row of a model, for radii and scales: CSV with the columns
 * idstate,value or idstate,idaction,value, or .npy of that many numbers. *count: 1, states or rows. The
 * array is the caller's to free with nadir_numbers_free. */
NADIR_API nadir_status nadir_numbers_read(nadir_context *context, const nadir_model *model, const char *path,
                                          double **numbers, int64_t *count);
NADIR_API void nadir_numbers_free(nadir_context *context, double *numbers);
/* The other way round, one for each row, of any sign: CSV with the columns idstate,idaction and `name`, or
 * .npy if the path ends so, of shape (states, actions) where all states have the actions 0, 1, ..., else
 * (rows). */
NADIR_API nadir_status nadir_numbers_write(nadir_context *context, const nadir_model *model, const char *name,
                                           const double *numbers, const char *path);

/* ---------------------------------------------------------------------------------------------------------
 * Methods by name: those above, the paper's own, and those that it compares with; see docs/methods.md
 *
 * All but "auto" are for the non-rectangular ball, and most for domain free and norm 2 alone.
 */

/* The methods, index = 0, 1, ...; NULL past the last. What each does, in half a line. */
NADIR_API const char *nadir_method_name(int64_t index);
NADIR_API const char *nadir_method_summary(int64_t index);

typedef struct nadir_baseline_settings {
    size_t size;
    const char *method; /* NULL: auto */
    double seconds;     /* it stops after this time, between two steps; default infinity */
    int64_t samples;    /* kernels that it may try, or steps that it may take; default 10000 */
    double tolerance;   /* of the penalty, relative, where the method converges; default 1e-9 */
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
    bool converged;          /* false: the budget was spent first; those that sample have no other end */
    int64_t samples;         /* kernels tried, or steps */
    double seconds;          /* from the nominal solution to the kernel */
} nadir_baseline;

/* What was known when. */
typedef struct nadir_trajectory_point {
    double seconds; /* since the nominal solution */
    int64_t samples;
    double value; /* the penalty of the best kernel so far, or its size for the best case; for the norm over
                     the cone, below, that of the best point */
} nadir_trajectory_point;

/* Runs one method within a budget, without proofs: for comparisons. The same seed of the context, samples and
 * threads give the same numbers (unless time runs out first). *points: [*count] rising in all three, the last
 * one for the result; the caller's to free with nadir_trajectory_free. points and count may be NULL.
 * result->size must be set; ball and settings may be NULL for the defaults. A budget that is spent is no
 * error. */
NADIR_API nadir_status nadir_solver_baseline(nadir_context *context, nadir_solver *solver,
                                             const nadir_ball *ball, const nadir_baseline_settings *settings,
                                             nadir_baseline *result, nadir_trajectory_point **points,
                                             int64_t *count);
NADIR_API void nadir_trajectory_free(nadir_context *context, nadir_trajectory_point *points);

/* ---------------------------------------------------------------------------------------------------------
 * The norm over the nonnegative cone: max |A x|_2 over x >= 0, |x|_2 <= 1
 *
 * The problem inside robust evaluation by bisection, hard in general. With v_i the eigenvectors of A^T A, in
 * falling order, and u_i the longer of their positive and negative parts, as a unit vector:
 *
 *     "0"      u_1
 *     "1"      the best u_i
 *     "2"      the best positive part of any combination of v_1 and v_2, exactly; the maximum for rank two
 *     "3"      of v_1, v_2 and v_3, exactly; the maximum for rank three
 *     "paper"  the u_i with the largest lambda_i <v_i, u_i>: Algorithm 2 of the paper, as printed
 *     "power"  projected power iterations from the leading v_i of both signs, order 2 and more; the best end
 *     "random" the best of random x, whose directions are uniform: brute force
 *     "slsqp"  sequential quadratic programming from one random x: where it ends, by NLopt
 */
typedef struct nadir_cone_norm_settings {
    size_t size;
    const char *order; /* NULL: "power" */
    bool bounds;       /* also the dual bound: by far the best, and many times the work */
    double tolerance;  /* the dual bound is good enough within this of the value, relatively, and "slsqp"
                          ends when steps gain less; default 1e-6 */
    int64_t iterations_limit; /* of the dual bound, each about one eigendecomposition; default 1000 */
    int64_t samples;          /* of "random" and "slsqp": points to try; default 10000 */
    double seconds;           /* and time to take; default infinity */
    bool record;              /* of both: what was known when, in points of the result */
} nadir_cone_norm_settings;

NADIR_API void nadir_cone_norm_settings_fill(nadir_cone_norm_settings *settings, size_t size);
static inline void nadir_cone_norm_settings_default(nadir_cone_norm_settings *settings)
{
    nadir_cone_norm_settings_fill(settings, sizeof *settings);
}

/* The bounds include all rounding. */
typedef struct nadir_cone_norm_result {
    size_t size;
    double value;       /* |A x| of the x found: maximum >= value, but for the rounding of that product */
    double upper_bound; /* maximum <= upper_bound, the least of those below */
    double zero_bound;  /* sqrt(lambda_1) */
    double first_bound; /* sqrt(c lambda_1 + (1 - c) lambda_2), c = <v_1, u_1>^2: the paper's first order */
    double dual_bound;  /* sqrt(lambda_max(A^T A + N)) of some N >= 0; NaN: not asked for */
    const char *order;
    int64_t support;      /* entries of x that are not zero */
    int64_t iterations;   /* of the dual bound */
    double seconds_value; /* products, eigenvectors and search */
    double seconds_bounds;
    int64_t samples;                /* of "random" and "slsqp": points tried */
    nadir_trajectory_point *points; /* [points_count] to be freed with nadir_trajectory_free; NULL unless they
                                       are to be recorded */
    int64_t points_count;
} nadir_cone_norm_result;

/* matrix: [rows * columns] row after row, finite, at most 30000 columns; x: [columns], or NULL. settings may
 * be NULL for the defaults; result->size must be set. NADIR_ERROR_ILL_POSED: the norm is no finite double. */
NADIR_API nadir_status nadir_cone_norm(nadir_context *context, int64_t rows, int64_t columns,
                                       const double *matrix, const nadir_cone_norm_settings *settings,
                                       double *x, nadir_cone_norm_result *result);

/* A matrix from a .npy file of two dimensions; to be freed with nadir_numbers_free. */
NADIR_API nadir_status nadir_numbers_read_matrix(nadir_context *context, const char *path, double **matrix,
                                                 int64_t *rows, int64_t *columns);

#ifdef __cplusplus
}
#endif

#endif
