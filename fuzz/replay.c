/*
 * replay.c: runs a fuzz target on files, or on all files of folders, without a fuzzer: for the tests, and for
 * looking at one input in a debugger.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 24 };

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    uint8_t *bytes = malloc(LARGEST);
    fuzz_require(bytes != NULL, "there is memory for a file");
    const size_t size = fread(bytes, 1, LARGEST, file);
    fclose(file);
    /* A copy of just this size, so that reading past its end is seen. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    fuzz_require(exact != NULL, "there is memory for a file");
    memcpy(exact, bytes, size);
    free(bytes);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static int replay(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return replay_file(path);
    }
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL && count >= 0; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            char inner[4096];
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            const int done = replay_file(inner);
            count = done < 0 ? -1 : count + done;
        }
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const int done = replay(argv[i]);
        if (done < 0) {
            return 1;
        }
        count += done;
    }
    printf("%d files\n", count);
    return count > 0 ? 0 : 1;
}
