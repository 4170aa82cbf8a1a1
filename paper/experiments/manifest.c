/* manifest.c: the list of an experiment's files with their digests; see report.h. */
#include "inside.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OUT/NAME/name into path; false: too long. */
static bool join(const experiment_run *run, const char *name, char path[EXPERIMENT_PATH])
{
    return snprintf(path, EXPERIMENT_PATH, "%s/%s", run->folder, name) < EXPERIMENT_PATH;
}

/* The settings that the data depends on. */
static void print_head(const experiment_run *run, char head[256])
{
    const char *engine = run->cli->engine_name;
    (void)snprintf(head, 256, "# nadir %s reproduce %s\n# %s settings, seed %" PRIu64 ", threads %d%s%s\n",
                   nadir_version(), run->experiment->name, run->quick ? "quick" : "full", run->seed,
                   (int)nadir_context_threads(run->context), engine != NULL ? ", engine " : "",
                   engine != NULL ? engine : "");
}

/* The digest of a file of the folder; false: it is not there. */
static bool digest(const experiment_run *run, const char *name, char text[65])
{
    char path[EXPERIMENT_PATH];
    unsigned char bytes[NADIR_SHA256_BYTES];
    nadir_sha256 sha;
    size_t length;
    char *content = join(run, name, path) ? experiment_slurp(run->cli, path, &length) : NULL;
    if (content == NULL) {
        return false;
    }
    nadir_sha256_start(&sha);
    nadir_sha256_update(&sha, content, length);
    nadir_sha256_finish(&sha, bytes);
    nadir_sha256_hex(bytes, text);
    free(content);
    return true;
}

nadir_status experiment_manifest_write(experiment_run *run)
{
    char path[EXPERIMENT_PATH] = "";
    char head[256];
    cli_output output = {0};
    const bool fits = join(run, "SHA256SUMS", path);
    nadir_status status = fits ? cli_output_open(run->cli, path, &output)
                               : cli_fail(run->cli, NADIR_ERROR_IO, "%s: this name is too long", path);
    if (output.out == NULL) {
        return status;
    }
    print_head(run, head);
    fputs(head, output.out);
    for (int i = 0; i < run->files_count; i++) {
        char text[65];
        if (!digest(run, run->files[i], text)) {
            cli_output_drop(&output);
            (void)join(run, run->files[i], path);
            return experiment_unreadable(run->cli, path);
        }
        fprintf(output.out, "%s  %s\n", text, run->files[i]);
    }
    return cli_output_close(run->cli, &output);
}

/* Whether every line "DIGEST  NAME" holds; there is at least one. */
static bool lines_hold(const experiment_run *run, char *cursor)
{
    bool any = false;
    char *rest = NULL;
    for (char *line = strtok_r(cursor, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char found[65];
        if (*line == '#') {
            continue;
        }
        if (strlen(line) < 67 || strchr(line, '/') != NULL || !digest(run, line + 66, found) ||
            strncmp(found, line, 64) != 0) {
            return false;
        }
        any = true;
    }
    return any;
}

bool experiment_manifest_holds(const experiment_run *run, bool same)
{
    char path[EXPERIMENT_PATH];
    char head[256];
    size_t length;
    char *list = join(run, "SHA256SUMS", path) ? experiment_slurp(run->cli, path, &length) : NULL;
    print_head(run, head);
    const bool holds =
        list != NULL && (!same || strncmp(list, head, strlen(head)) == 0) && lines_hold(run, list);
    free(list);
    return holds;
}

void experiment_manifest_remove(const experiment_run *run)
{
    char path[EXPERIMENT_PATH];
    if (join(run, "SHA256SUMS", path)) {
        (void)unlink(path);
    }
}
