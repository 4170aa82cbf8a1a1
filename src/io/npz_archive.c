/* npz_archive.c: the entries of a NumPy archive as byte sources, through libzip; see npz.h. */
#include "io/npz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* The array that an entry holds, NADIR_NPZ_ARRAYS if it is none that we know. */
static nadir_npz_which find_array(const nadir_npz *npz, const char *entry)
{
    size_t length = strlen(entry);
    if (length > 4 && strcmp(entry + length - 4, ".npy") == 0) {
        length -= 4;
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

/* What the archive says about an entry, as far as it is possible. */
static nadir_status check_entry(const nadir_npz_array *array, zip_uint64_t index, zip_stat_t *facts)
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
    const nadir_npz_array *array = user;
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
    const nadir_npz_array *array = user;
    return zip_fseek(array->file, bytes, SEEK_CUR) == 0;
}

nadir_status nadir_npz_array_open(nadir_npz *npz, nadir_npz_which which, nadir_npz_array *array)
{
    nadir_status status = NADIR_OK;
    zip_stat_t facts;
    const zip_uint64_t index = (zip_uint64_t)npz->entries[which];
    *array = (nadir_npz_array){.npz = npz};
    (void)snprintf(array->name, sizeof array->name, "%.200s: array %s", npz->path, nadir_npz_name(which));
    NADIR_CHECK(check_entry(array, index, &facts));
    errno = 0;
    array->file = zip_fopen_index(npz->zip, index, 0);
    if (array->file == NULL) {
        return zip_fail(npz, array->name, zip_get_error(npz->zip));
    }
    const bool stored = facts.comp_method == ZIP_CM_STORE;
    const nadir_npy_source source = {array->name, (int64_t)facts.size, read_entry, array,
                                     stored ? skip_entry : NULL};
    NADIR_CHECK(nadir_npy_open(npz->context, &source, &array->npy));
cleanup:
    return status;
}

void nadir_npz_array_close(nadir_npz_array *array)
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
            nadir_npz_array array;
            status = nadir_npz_array_open(npz, (nadir_npz_which)which, &array);
            npz->headers[which] = array.npy.header;
            bytes += (double)array.npy.source.bytes;
            nadir_npz_array_close(&array);
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
