/* npz_archive.c: NumPy archives through libzip: their bytes, entries and arrays; see npz.h. */
#include "io/npz.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Bytes of the archive ---------------------------------------------------------------------------- */

static int64_t size_of(const nadir_npz_source *source)
{
    return source->input != NULL ? source->input->bytes : source->output->written;
}

static zip_int64_t read_bytes(nadir_npz_source *source, void *into, size_t size)
{
    size_t got;
    const nadir_status status =
        nadir_input_read_at(source->context, source->input, source->at, into, size, &got);
    if (status != NADIR_OK) {
        source->status = status;
        return -1;
    }
    source->at += (int64_t)got;
    return (zip_int64_t)got;
}

static zip_int64_t write_bytes(nadir_npz_source *source, const void *from, size_t size)
{
    nadir_output_write_at(source->output, source->at, from, size);
    if (source->output->failed) {
        return -1;
    }
    source->at += (int64_t)size;
    return (zip_int64_t)size;
}

static zip_int64_t seek(nadir_npz_source *source, void *data, zip_uint64_t length)
{
    const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)source->at,
                                                          (zip_uint64_t)size_of(source), data, length, NULL);
    if (to < 0) {
        return -1;
    }
    source->at = to;
    return 0;
}

zip_int64_t nadir_npz_tell_size(int64_t size, void *data)
{
    zip_stat_t facts;
    zip_stat_init(&facts);
    facts.valid = ZIP_STAT_SIZE;
    facts.size = (zip_uint64_t)size;
    memcpy(data, &facts, sizeof facts);
    return (zip_int64_t)sizeof facts;
}

zip_int64_t nadir_npz_tell_error(int error, void *data)
{
    const int codes[] = {error, 0};
    memcpy(data, codes, sizeof codes);
    return (zip_int64_t)sizeof codes;
}

static zip_int64_t tell_commands(const nadir_npz_source *source)
{
    const zip_int64_t reading = zip_source_make_command_bitmap(
        ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
        ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    const zip_int64_t writing = zip_source_make_command_bitmap(
        ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE,
        ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
    return source->output != NULL ? reading | writing : reading;
}

/* What libzip asks of a source: a zip_source_callback. */
static zip_int64_t serve(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command)
{
    nadir_npz_source *source = user;
    switch (command) {
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_BEGIN_WRITE:
        source->at = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return source->input != NULL ? read_bytes(source, data, length) : -1;
    case ZIP_SOURCE_WRITE:
        return write_bytes(source, data, length);
    case ZIP_SOURCE_SEEK:
    case ZIP_SOURCE_SEEK_WRITE:
        return seek(source, data, length);
    case ZIP_SOURCE_TELL:
    case ZIP_SOURCE_TELL_WRITE:
        return source->at;
    case ZIP_SOURCE_STAT:
        return nadir_npz_tell_size(size_of(source), data);
    case ZIP_SOURCE_ERROR:
        return nadir_npz_tell_error(source->input != NULL ? ZIP_ER_READ : ZIP_ER_WRITE, data);
    case ZIP_SOURCE_SUPPORTS:
        return tell_commands(source);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_COMMIT_WRITE: /* these three: who opened the file decides what becomes of it */
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
        return 0;
    default:
        return -1;
    }
}

zip_t *nadir_npz_source_open(nadir_npz_source *source, zip_error_t *error)
{
    zip_source_t *made = zip_source_function_create(serve, source, error);
    if (made == NULL) {
        return NULL;
    }
    zip_t *zip = zip_open_from_source(made, source->input != NULL ? ZIP_RDONLY : ZIP_TRUNCATE, error);
    if (zip == NULL) {
        zip_source_free(made);
    }
    return zip;
}

/* ---- Entries ----------------------------------------------------------------------------------------- */

/* No deflated byte can stand for more than this many. */
#define DEFLATE_RATIO 1032
#define DEFLATE_SLACK 64

const char *nadir_npz_name(nadir_npz_which which)
{
    static const char *const names[NADIR_NPZ_ARRAYS] = {
#define NAME(symbol, name) name,
        NADIR_NPZ_LIST(NAME) NADIR_NPZ_KERNEL_LIST(NAME)
#undef NAME
    };
    return names[which];
}

/* `name` is the file or "FILE: array NAME". */
static nadir_status zip_fail(const nadir_npz *npz, const char *name, zip_error_t *error)
{
    nadir_context *context = npz->context;
    if (npz->source.status != NADIR_OK) { /* the context has the sentence */
        return npz->source.status;
    }
    const int code = zip_error_code_zip(error);
    /* Without memory for the directory libzip says that there is none: errno, 0 before the call, knows. */
    if (code == ZIP_ER_MEMORY || errno == ENOMEM) {
        return nadir_fail(context, NADIR_ERROR_MEMORY, "%s: out of memory", name);
    }
    switch (code) {
    case ZIP_ER_NOZIP:
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: is no zip archive, or its end is missing; expected a NumPy .npz file", name);
    case ZIP_ER_CRC:
        return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: is damaged: the checksum is wrong", name);
    default:
        return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: is damaged: %s", name, zip_error_strerror(error));
    }
}

static nadir_status open_zip(nadir_npz *npz)
{
    nadir_status status = NADIR_OK;
    zip_error_t error;
    zip_error_init_with_code(&error, ZIP_ER_NOZIP);
    NADIR_CHECK(nadir_input_open(npz->context, npz->path, &npz->input));
    npz->source = (nadir_npz_source){.context = npz->context, .input = &npz->input};
    errno = 0;
    npz->zip = npz->input.bytes > 0 ? nadir_npz_source_open(&npz->source, &error) : NULL;
    if (npz->zip == NULL) {
        status = zip_fail(npz, npz->path, &error);
    }
cleanup:
    zip_error_fini(&error);
    return status;
}

/* The array that an entry holds, NADIR_NPZ_ARRAYS if it is none that we know. Three have the names of the ICU-Sepsis
 * benchmark, too. */
static nadir_npz_which find_array(const nadir_npz *npz, const char *entry)
{
    static const struct {
        const char *name;
        nadir_npz_which which;
    } others[] = {{"tx_mat", NADIR_NPZ_P}, {"r_mat", NADIR_NPZ_R}, {"d_0", NADIR_NPZ_MU}};
    size_t length = strlen(entry);
    if (length > 4 && strcmp(entry + length - 4, ".npy") == 0) {
        length -= 4;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strlen(others[i].name) == length && memcmp(others[i].name, entry, length) == 0) {
            return others[i].which;
        }
    }
    for (int which = 0; which < npz->known; which++) {
        const char *name = nadir_npz_name((nadir_npz_which)which);
        if (strlen(name) == length && memcmp(name, entry, length) == 0) {
            return (nadir_npz_which)which;
        }
    }
    return NADIR_NPZ_ARRAYS;
}

/* The arrays that are ignored, for one message. */
typedef struct ignored_names {
    int64_t count;
    char text[256];
    size_t used;
} ignored_names;

static void add_ignored(ignored_names *ignored, const char *name)
{
    const size_t room = sizeof ignored->text - ignored->used;
    const char *comma = ignored->count > 0 ? ", " : "";
    if (strlen(comma) + strlen(name) < room) {
        const int length = snprintf(ignored->text + ignored->used, room, "%s%s", comma, name);
        for (int i = 0; i < length; i++, ignored->used++) { /* a hostile name may hold anything */
            const char character = ignored->text[ignored->used];
            if (character >= 0 && character < ' ') {
                ignored->text[ignored->used] = '?';
            }
        }
    } else if (room > 5) {
        memcpy(ignored->text + ignored->used, ", ...", 6);
        ignored->used = sizeof ignored->text;
    }
    ignored->count++;
}

static nadir_status list_entries(nadir_npz *npz)
{
    ignored_names ignored = {0};
    const int64_t count = zip_get_num_entries(npz->zip, 0);
    for (int64_t i = 0; i < count; i++) {
        errno = 0;
        const char *name = zip_get_name(npz->zip, (zip_uint64_t)i, 0);
        if (name == NULL) {
            return zip_fail(npz, npz->path, zip_get_error(npz->zip));
        }
        const nadir_npz_which which = find_array(npz, name);
        if (which == NADIR_NPZ_ARRAYS) {
            add_ignored(&ignored, name);
            continue;
        }
        if (nadir_npz_has(npz, which)) {
            return nadir_fail(npz->context, NADIR_ERROR_FORMAT, "%s: the array %s is there twice", npz->path,
                              nadir_npz_name(which));
        }
        npz->entries[which] = i;
    }
    /* With a kernel of our own, these common names mean something else. */
    const bool own = nadir_npz_has(npz, NADIR_NPZ_P) || nadir_npz_has(npz, NADIR_NPZ_P_DATA);
    for (int which = NADIR_NPZ_DATA; own && which <= NADIR_NPZ_FORMAT; which++) {
        if (nadir_npz_has(npz, (nadir_npz_which)which)) {
            add_ignored(&ignored, nadir_npz_name((nadir_npz_which)which));
            npz->entries[which] = -1;
        }
    }
    if (ignored.count > 0) {
        nadir_log(npz->context, NADIR_LOG_NOTICE, "%s: %lld unknown array%s ignored: %s", npz->path,
                  (long long)ignored.count, ignored.count == 1 ? " was" : "s were", ignored.text);
    }
    return NADIR_OK;
}

/* One array of an archive, open for reading. */
typedef struct npz_array {
    nadir_npy npy;
    nadir_npz *npz;
    zip_file_t *file;
    char name[256]; /* "model.npz: array P" */
} npz_array;

/* What the archive says about an entry, as far as it is possible. */
static nadir_status check_entry(const npz_array *array, zip_uint64_t index, zip_stat_t *facts)
{
    nadir_context *context = array->npz->context;
    const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    errno = 0;
    if (zip_stat_index(array->npz->zip, index, 0, facts) != 0) {
        return zip_fail(array->npz, array->name, zip_get_error(array->npz->zip));
    }
    if ((facts->valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && facts->encryption_method != ZIP_EM_NONE) {
        return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: is encrypted; expected plain entries",
                          array->name);
    }
    if ((facts->valid & wanted) != wanted ||
        (facts->comp_method != ZIP_CM_STORE && facts->comp_method != ZIP_CM_DEFLATE)) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: is compressed by method %d; expected a stored or deflated entry", array->name,
                          (int)facts->comp_method);
    }
    const bool stored = facts->comp_method == ZIP_CM_STORE;
    if (facts->comp_size > (zip_uint64_t)array->npz->input.bytes ||
        (stored ? facts->size != facts->comp_size
                : facts->size > DEFLATE_RATIO * facts->comp_size + DEFLATE_SLACK)) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: declares %llu bytes, more than the file can hold (%llu compressed bytes, %lld "
                          "bytes in the file)",
                          array->name, (unsigned long long)facts->size, (unsigned long long)facts->comp_size,
                          (long long)array->npz->input.bytes);
    }
    return NADIR_OK;
}

static nadir_status read_entry(void *user, void *buffer, size_t size, size_t *got)
{
    const npz_array *array = user;
    nadir_npz *npz = array->npz;
    *got = 0;
    while (*got < size) {
        errno = 0;
        const zip_int64_t count = zip_fread(array->file, (char *)buffer + *got, size - *got);
        if (count < 0) {
            return zip_fail(npz, array->name, zip_file_get_error(array->file));
        }
        if (count == 0) {
            break;
        }
        *got += (size_t)count;
    }
    npz->done += (double)*got;
    return nadir_progress(npz->context, "reading", npz->bytes > 0 ? npz->done / npz->bytes : -1);
}

/* Entries that are not compressed can be read from any place. */
static bool skip_entry(void *user, int64_t bytes)
{
    const npz_array *array = user;
    return zip_fseek(array->file, bytes, SEEK_CUR) == 0;
}

/* For an array that is there; close it in any case. */
static nadir_status open_array(nadir_npz *npz, nadir_npz_which which, npz_array *array)
{
    zip_stat_t facts;
    const zip_uint64_t index = (zip_uint64_t)npz->entries[which];
    *array = (npz_array){.npz = npz};
    (void)snprintf(array->name, sizeof array->name, "%.200s: array %s", npz->path, nadir_npz_name(which));
    NADIR_TRY(check_entry(array, index, &facts));
    errno = 0;
    array->file = zip_fopen_index(npz->zip, index, 0);
    if (array->file == NULL) {
        return zip_fail(npz, array->name, zip_get_error(npz->zip));
    }
    const bool stored = facts.comp_method == ZIP_CM_STORE;
    const nadir_npy_source source = {array->name, (int64_t)facts.size, read_entry, array,
                                     stored ? skip_entry : NULL};
    return nadir_npy_open(npz->context, &source, NULL, &array->npy);
}

static void close_array(npz_array *array)
{
    nadir_npy_close(&array->npy);
    if (array->file != NULL) {
        zip_fclose(array->file);
        array->file = NULL;
    }
}

nadir_status nadir_npz_open(nadir_context *context, const char *path, int known, nadir_npz *npz)
{
    nadir_status status = NADIR_OK;
    *npz = (nadir_npz){.context = context, .path = path, .input = NADIR_INPUT_CLOSED, .known = known};
    for (int which = 0; which < NADIR_NPZ_ARRAYS; which++) {
        npz->entries[which] = -1;
    }
    NADIR_CHECK(open_zip(npz));
    NADIR_CHECK(list_entries(npz));
    double bytes = 0;
    for (int which = 0; which < NADIR_NPZ_ARRAYS; which++) {
        if (nadir_npz_has(npz, (nadir_npz_which)which)) {
            npz_array array;
            status = open_array(npz, (nadir_npz_which)which, &array);
            npz->headers[which] = array.npy.header;
            bytes += (double)array.npy.source.bytes;
            close_array(&array);
            NADIR_CHECK(status);
        }
    }
    npz->bytes = bytes;
    npz->done = 0;
cleanup:
    return status;
}

void nadir_npz_close(nadir_npz *npz)
{
    if (npz->zip != NULL) {
        zip_discard(npz->zip);
        npz->zip = NULL;
    }
    nadir_input_close(&npz->input);
}

/* ---- Arrays ------------------------------------------------------------------------------------------ */

typedef enum target { TO_DOUBLES, TO_INT64S, TO_INT32S, TO_NAMES } target;

/* Space was made for what the header said when the archive was opened. */
static bool is_unchanged(const nadir_npy_header *now, const nadir_npy_header *then)
{
    return now->count == then->count && now->dimensions == then->dimensions &&
           now->fortran == then->fortran && memcmp(now->shape, then->shape, sizeof now->shape) == 0;
}

static nadir_status read_array(nadir_npz *npz, nadir_npz_which which, target to, const nadir_npy_slice *slice,
                               const int64_t *strides, void *into)
{
    nadir_status status = NADIR_OK;
    npz_array array = {0};
    nadir_npy *npy = &array.npy;
    NADIR_CHECK(open_array(npz, which, &array));
    if (!is_unchanged(&array.npy.header, &npz->headers[which])) {
        NADIR_CHECK(nadir_fail(npz->context, NADIR_ERROR_IO, "%s: changed while it was read", array.name));
    }
    const int64_t count = slice != NULL ? slice->count : npy->header.count;
    if (slice != NULL && to != TO_DOUBLES) {
        NADIR_CHECK(nadir_npy_skip(npy, slice->first));
    }
    NADIR_CHECK(to == TO_DOUBLES  ? nadir_npy_place(npy, slice, strides, into)
                : to == TO_INT64S ? nadir_npy_int64s(npy, count, into)
                : to == TO_INT32S ? nadir_npy_int32s(npy, count, into)
                                  : nadir_npy_names(npy, into));
    if (npy->taken == npy->header.count) {
        NADIR_CHECK(nadir_npy_finish(npy));
    }
cleanup:
    close_array(&array);
    return status;
}

nadir_status nadir_npz_doubles(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                               const int64_t *strides, double *into)
{
    return read_array(npz, which, TO_DOUBLES, slice, strides, into);
}

nadir_status nadir_npz_int64s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int64_t *into)
{
    return read_array(npz, which, TO_INT64S, slice, NULL, into);
}

nadir_status nadir_npz_int32s(nadir_npz *npz, nadir_npz_which which, const nadir_npy_slice *slice,
                              int32_t *into)
{
    return read_array(npz, which, TO_INT32S, slice, NULL, into);
}

nadir_status nadir_npz_names(nadir_npz *npz, nadir_npz_which which, nadir_names *into)
{
    return npz->entries[which] < 0 ? NADIR_OK : read_array(npz, which, TO_NAMES, NULL, NULL, into);
}

nadir_status nadir_npz_number(nadir_npz *npz, nadir_npz_which which, double *into)
{
    if (npz->headers[which].count == 1) {
        return nadir_npz_doubles(npz, which, NULL, NULL, into);
    }
    return nadir_npz_has(npz, which) ? nadir_npz_shape_fail(npz, which, "one number") : NADIR_OK;
}

nadir_status nadir_npz_one_name(nadir_npz *npz, nadir_npz_which which, nadir_names *into)
{
    if (nadir_npz_has(npz, which) && npz->headers[which].count != 1) {
        return nadir_npz_shape_fail(npz, which, "one word");
    }
    return nadir_npz_names(npz, which, into);
}

nadir_status nadir_npz_word(nadir_npz *npz, nadir_npz_which which, int count, const char *const *words,
                            int *found)
{
    nadir_status status = NADIR_OK;
    nadir_names names = {0};
    *found = 0;
    NADIR_CHECK(nadir_npz_one_name(npz, which, &names));
    const char *word = nadir_names_get(&names, 0);
    while (names.count > 0 && *found < count && strcmp(words[*found], word) != 0) {
        (*found)++;
    }
    if (*found == count) {
        status =
            nadir_fail(npz->context, NADIR_ERROR_FORMAT, "%s: array %s is \"%.40s\"; expected %s%s%s%s%s%s%s",
                       npz->path, nadir_npz_name(which), word, words[1], count > 2 ? ", " : "",
                       count > 2 ? words[2] : "", count > 3 ? ", " : "", count > 3 ? words[3] : "",
                       count > 4 ? ", " : "", count > 4 ? words[4] : "");
    }
cleanup:
    nadir_names_clear(npz->context->memory, &names);
    return status;
}

nadir_status nadir_npz_norm(nadir_npz *npz, double *norm)
{
    static const char *const words[] = {"", "chi2"};
    const nadir_npy_header *header = &npz->headers[NADIR_NPZ_NORM];
    int found;
    if (nadir_npz_has(npz, NADIR_NPZ_NORM) &&
        (header->type.kind == NADIR_NPY_TEXT || header->type.kind == NADIR_NPY_BYTES)) {
        NADIR_TRY(nadir_npz_word(npz, NADIR_NPZ_NORM, 2, words, &found));
        *norm = NADIR_NORM_CHI2;
        return NADIR_OK;
    }
    NADIR_TRY(nadir_npz_number(npz, NADIR_NPZ_NORM, norm));
    if (nadir_npz_has(npz, NADIR_NPZ_NORM) && !(*norm >= 1)) {
        return nadir_fail(npz->context, NADIR_ERROR_FORMAT,
                          "%s: array norm is %g; expected 1 to infinity, or the word chi2", npz->path, *norm);
    }
    return NADIR_OK;
}

nadir_status nadir_npz_set_and_domain(nadir_npz *npz, nadir_set *set, nadir_domain *domain)
{
    const char *sets[4];
    const char *domains[5];
    int found;
    for (int i = 0; i < 4; i++) {
        sets[i] = nadir_set_name((nadir_set)i);
    }
    for (int i = 0; i < 5; i++) {
        domains[i] = nadir_domain_name((nadir_domain)i);
    }
    NADIR_TRY(nadir_npz_word(npz, NADIR_NPZ_SET, 4, sets, &found));
    *set = (nadir_set)found;
    NADIR_TRY(nadir_npz_word(npz, NADIR_NPZ_DOMAIN, 5, domains, &found));
    *domain = (nadir_domain)found;
    return NADIR_OK;
}

nadir_status nadir_npz_shape_fail(const nadir_npz *npz, nadir_npz_which which, const char *format, ...)
{
    char expected[256];
    char shape[NADIR_NPY_SHAPE_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    const nadir_npy_header *header = &npz->headers[which];
    return nadir_fail(npz->context, NADIR_ERROR_FORMAT, "%s: array %s has shape %s; expected %s", npz->path,
                      nadir_npz_name(which), nadir_npy_shape_text(header->dimensions, header->shape, shape),
                      expected);
}
