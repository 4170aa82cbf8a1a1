/*
 * npz.h: NumPy archives: a zip file with one .npy entry for each array; models and kernels are kept in them.
 *
 * The sizes of an entry are checked against the bytes of the file before anything is allocated, and the
 * checksum is verified.
 */
#ifndef NADIR_IO_NPZ_H
#define NADIR_IO_NPZ_H

#include "core/file.h"
#include "io/format.h"
#include "io/npy.h"

#include <zip.h>

/* The arrays of a model; the comment says their shapes. Rows are numbered s * A + a, or state after state. */
#define NADIR_NPZ_LIST(X)                                                                                    \
    X(P, "P")                 /* (S, A, S) or (A, S, S) */                                                   \
    X(LAYOUT, "layout")       /* "sas" or "ass", where S = A leaves it open */                               \
    X(P_DATA, "P_data")       /* (N) probabilities of a matrix of rows in CSR form, */                       \
    X(P_INDICES, "P_indices") /* (N) successors, */                                                          \
    X(P_INDPTR, "P_indptr")   /* (rows + 1) first transition of each row */                                  \
    X(P_SHAPE, "P_shape")     /* (2) rows and S */                                                           \
    X(DATA, "data")           /* the same five by the names of scipy.sparse.save_npz */                      \
    X(INDICES, "indices")                                                                                    \
    X(INDPTR, "indptr")                                                                                      \
    X(SHAPE, "shape")                                                                                        \
    X(FORMAT, "format")             /* "csr" */                                                              \
    X(STATES, "states")             /* S */                                                                  \
    X(ROW_STATE, "row_state")       /* (rows) state of each row, not falling */                              \
    X(ROW_ACTION, "row_action")     /* (rows) action number of each row, rising within a state */            \
    X(R, "R")                       /* (S, A), (rows), (S), (N) or the shape of P */                         \
    X(MU, "mu")                     /* (S) */                                                                \
    X(GAMMA, "gamma")               /* one number */                                                         \
    X(SCALES, "scales")             /* (S, A), (rows) or (S) */                                              \
    X(RADIUS, "radius")             /* one number, (S), (rows) or (S, A) */                                  \
    X(NORM, "norm")                 /* one number, or chi2 */                                                \
    X(SET, "set")                   /* "nonrect", "s" or "sa" */                                             \
    X(DOMAIN, "domain")             /* "simplex", "support", "free" or "box" */                              \
    X(PROMISE, "promise")           /* "kernel" or "return" */                                               \
    X(CONFIDENCE, "confidence")     /* one number */                                                         \
    X(UNOBSERVED, "unobserved")     /* as scales */                                                          \
    X(P_LOWER, "P_lower")           /* as P, or (N) as P_data */                                             \
    X(P_UPPER, "P_upper")           /* the same */                                                           \
    X(WEIGHTS, "weights")           /* the same */                                                           \
    X(STATE_NAMES, "state_names")   /* (S) text */                                                           \
    X(ACTION_NAMES, "action_names") /* text, by action number */

/* Further arrays of a kernel file. */
#define NADIR_NPZ_KERNEL_LIST(X)                                                                             \
    X(B, "b")                                 /* (rows) of a kernel Phat - b k^T */                          \
    X(K, "k")                                 /* (S) */                                                      \
    X(OPTIMISTIC, "optimistic")               /* 0 or 1 */                                                   \
    X(MODEL_SHA256, "model_sha256")           /* 64 hexadecimal digits */                                    \
    X(POLICY_SHA256, "policy_sha256")         /* the same */                                                 \
    X(MODEL_FILE_SHA256, "model_file_sha256") /* of the bytes of the files they came from */                 \
    X(POLICY_FILE_SHA256, "policy_file_sha256")

typedef enum nadir_npz_which {
#define NADIR_NPZ_ENUM(symbol, name) NADIR_NPZ_##symbol,
    NADIR_NPZ_LIST(NADIR_NPZ_ENUM) NADIR_NPZ_KERNEL_LIST(NADIR_NPZ_ENUM)
#undef NADIR_NPZ_ENUM
        NADIR_NPZ_ARRAYS,
    NADIR_NPZ_MODEL_ARRAYS = NADIR_NPZ_B /* those before it */
} nadir_npz_which;

const char *nadir_npz_name(nadir_npz_which which);

/* Where libzip reads from and writes to: our own files. Left to itself it goes through streams of the C
 * library, which give up when a signal cuts a call short, and writes to a temporary file of its own, which is
 * left behind when the process is killed. */
typedef struct nadir_npz_source {
    nadir_context *context;
    nadir_input *input; /* one of the two is NULL */
    nadir_output *output;
    int64_t at;
    nadir_status status; /* of reading, once it has failed; the context says more */
} nadir_npz_source;

/* An archive in one of the two files, both of which, as the source, stay where they are until it is closed or
 * discarded. NULL: `error` says why. */
zip_t *nadir_npz_source_open(nadir_npz_source *source, zip_error_t *error);

/* The answers of a source to questions of libzip: how long it is, and which error it had. */
zip_int64_t nadir_npz_tell_size(int64_t size, void *data);
zip_int64_t nadir_npz_tell_error(int error, void *data);

/* An archive being read. */
typedef struct nadir_npz {
    nadir_context *context;
    const char *path;
    nadir_input input;
    nadir_npz_source source; /* points to the input: an archive stays where it is */
    zip_t *zip;
    int known;                                  /* only arrays 0 .. known - 1 are read */
    int64_t entries[NADIR_NPZ_ARRAYS];          /* number of the entry, -1: none */
    nadir_npy_header headers[NADIR_NPZ_ARRAYS]; /* of the arrays that are there */
    double bytes, done;                         /* of all these arrays, for progress */
} nadir_npz;

/* Opens an archive and reads the headers of the arrays it knows, NADIR_NPZ_MODEL_ARRAYS or NADIR_NPZ_ARRAYS;
 * says once which it does not know. path is kept, not copied. nadir_npz_close is legal afterwards in any
 * case. */
nadir_status nadir_npz_open(nadir_context *context, const char *path, int known, nadir_npz *npz);
void nadir_npz_close(nadir_npz *npz);

static inline bool nadir_npz_has(const nadir_npz *npz, nadir_npz_which which)
{
    return npz->entries[which] >= 0;
}

/* Reads an array that is there, or a slice of it (axis 0 for integers; NULL: all), as the functions of
 * npy.h with the same names do. The checksum is verified where all of the array is read. */
nadir_status nadir_npz_doubles(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                               const int64_t *strides, double *into);
nadir_status nadir_npz_int64s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int64_t *into);
nadir_status nadir_npz_int32s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int32_t *into);
/* None where there is no such array. */
nadir_status nadir_npz_names(nadir_npz *npz, nadir_npz_which which, nadir_names *into);
/* An array of one text; none where there is no such array. */
nadir_status nadir_npz_one_name(nadir_npz *npz, nadir_npz_which which, nadir_names *into);
/* An array of one number; where there is none, *into is left alone. */
nadir_status nadir_npz_number(nadir_npz *npz, nadir_npz_which which, double *into);
/* An array of one word out of words[1 .. count - 1], at most four; *found is its place, 0 where there is
 * none. */
nadir_status nadir_npz_word(nadir_npz *npz, nadir_npz_which which, int count, const char *const *words,
                            int *found);

/* The norm of a ball: a number, or the word chi2 (NADIR_NORM_CHI2); where there is none, *norm is left alone. */
nadir_status nadir_npz_norm(nadir_npz *npz, double *norm);

/* The set and the domain of a ball; UNSAID where the archive does not say. */
nadir_status nadir_npz_set_and_domain(nadir_npz *npz, nadir_set *set, nadir_domain *domain);

/* "FILE: array NAME has shape SHAPE; expected ..." as a NADIR_ERROR_FORMAT. */
nadir_status nadir_npz_shape_fail(const nadir_npz *npz, nadir_npz_which which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Items that are made while the archive is written, block by block. */
typedef struct nadir_npz_stream {
    /* The bytes of a block, maybe none, valid until the next call; returns how many. */
    size_t (*make)(void *user, int64_t block, const void **bytes);
    void *user;
    int64_t blocks;
    /* Of the archive: */
    const char *header;
    const void *bytes; /* what is left of a block */
    size_t header_bytes, left;
    int64_t next, total;
} nadir_npz_stream;

#define NADIR_NPZ_WORD_LENGTH 64 /* characters */

/* An archive being written. What is added is kept, not copied, until the commit; all entries bear the same
 * date, so that the same arrays give the same bytes. */
typedef struct nadir_npz_output {
    nadir_context *context;
    const char *path;
    nadir_output file;
    nadir_npz_source source; /* points to the file */
    zip_t *zip;
    bool compress;
    bool stores_digest;
    nadir_status stopped; /* what the progress callback answered */
    char headers[NADIR_NPZ_ARRAYS][NADIR_NPY_HEADER_LENGTH];
    uint32_t words[NADIR_NPZ_ARRAYS][NADIR_NPZ_WORD_LENGTH];
} nadir_npz_output;

/* The struct stays where it is until it is closed, which it must be in any case. compress: deflate. */
nadir_status nadir_npz_output_open(nadir_context *context, const char *path, bool compress,
                                   nadir_npz_output *output);
/* items: [product of shape], each of item_bytes; type as in nadir_npy_header_bytes. */
nadir_status nadir_npz_add(nadir_npz_output *output, nadir_npz_which which, const char *type, int dimensions,
                           const int64_t *shape, const void *items, size_t item_bytes);
/* One number. */
nadir_status nadir_npz_add_number(nadir_npz_output *output, nadir_npz_which which, const double *number);
/* A word of at most NADIR_NPZ_WORD_LENGTH characters of ASCII; copied. */
nadir_status nadir_npz_add_word(nadir_npz_output *output, nadir_npz_which which, const char *word);
/* [count] items of a stream. */
nadir_status nadir_npz_add_stream(nadir_npz_output *output, nadir_npz_which which, const char *type,
                                  int64_t count, size_t item_bytes, nadir_npz_stream *stream);
/* Which state and which action each row has, where that does not go without saying. *row_state is to be released
 * after the commit. */
nadir_status nadir_npz_add_row_labels(nadir_npz_output *output, const nadir_model *model,
                                      int32_t **row_state);
/* The parts of a ball that are said. */
nadir_status nadir_npz_add_ball(nadir_npz_output *output, const int64_t *radius_count, const double *radius,
                                const double *norm, nadir_set set, nadir_domain domain);
/* The archive will end with a comment that holds the digest of all its other bytes. */
nadir_status nadir_npz_output_store_digest(nadir_npz_output *output);
extern const nadir_file_digest_form nadir_npz_digest_form;
/* Writes everything and gives the file its name. */
nadir_status nadir_npz_output_commit(nadir_npz_output *output);
void nadir_npz_output_close(nadir_npz_output *output);

nadir_status nadir_npz_write(nadir_context *context, const nadir_model *model, const char *path,
                             const nadir_write_settings *settings);

#endif
