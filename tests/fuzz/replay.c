/* replay.c: runs a fuzz target once on each file named, and on each file of a folder named. Lets
 * every build, not only clang's, see the inputs that were worth keeping. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        return 1;
    }
    long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    if (!data || got != (size_t)size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        return 1;
    }
    fprintf(stderr, "%s\n", path); /* the last one printed is the one that crashed */
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    return 0;
}

static int replay_folder(DIR *folder, const char *path)
{
    int failures = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char file[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        failures += replay_file(file);
    }
    return failures;
}

int main(int argc, char **argv)
{
    int failures = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        failures += folder ? replay_folder(folder, argv[i]) : replay_file(argv[i]);
        if (folder)
            closedir(folder);
    }
    return failures ? 1 : 0;
}
