/*
 * Archives: zip files as PyTorch writes them, read and written by libzip.
 *
 * The file is mapped once. Stored members are used in the map. Deflated ones are inflated into the arena, with a limit
 * on their size. libzip reads the map through a zip source that is defined here. The source remembers where its last
 * read began, from which the offset of a stored member is computed. All members are below one root folder, which the
 * first entry names. Members are looked up without it. A member's CRC-32 is checked when it is first read. PyTorch does
 * not check it.
 *
 * The map is private: writes to weights stay in this process, and archive_remap makes an unwritten copy at no cost.
 */
#include "../frontend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>
#include <zlib.h>

typedef struct Member {
	uint64_t index;         /* Index of the entry in libzip. */
	int64_t  n, packed;     /* Length of the data in bytes, and its length in the file. */
	uint32_t crc;
	int      method;        /* Compression method: 0 for stored, 8 for deflated. */
	bool     encrypted, read;
	Record   record;        /* Valid once `read` is set. */
} Member;

struct Archive {
	Cx         *cx;
	const char *path;
	char       *map;        /* The mapped file. */
	struct FileMap *file;   /* Entry of the map in the context's list. Null for a nested archive. */
	bool        nested;     /* Whether it is a member of another archive. */
	int64_t     n;          /* Length of the map in bytes. */
	zip_t      *zip;
	const char *root;       /* Root folder, as in "net/". */
	Map         members;    /* Member, by name without the root. */
	const char **names;
	int         nnames;
	int64_t     inflated;   /* Number of bytes inflated into the arena so far. */
	uint64_t    hash;
	int64_t     at, last;   /* Position of the zip source, and where its last read began. */
	zip_error_t error;      /* Error of the zip source. */
	Vec(char *) maps;       /* Further maps of the file. */
};

enum { CRC_PIECE = 8 << 20 };

typedef struct FileMap {        /* File of an archive, in a list while it is mapped. */
	char   *at;
	int64_t n;
	struct FileMap *next;
} FileMap;

/* ---- files that are not zips --------------------------------------------------------------------------- */

typedef struct Magic { int at, n; const char *bytes, *says; } Magic;

static const Magic magics[] = {
	{ 0, 8, "PYTORCH1", "is in the format of PyTorch's 1.0 preview release, which no later release reads either" },
	{ 0, 15, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e",
	  "is a checkpoint of torch.save (before PyTorch 1.6): weights without a program; load it in PyTorch and save "
	  "torch.jit.script(model) by torch.jit.save" },
	{ 4, 4, "PTMF", "is a mobile flatbuffer module; save the model by torch.jit.save instead" },
	{ 4, 4, "ET12", "is an ExecuTorch program, not a TorchScript archive" },
	{ 0, 4, "GGUF", "is a GGUF file: weights without a program" },
	{ 0, 6, "\x89HDF\r\n", "is an HDF5 file (Keras weights?), not a TorchScript archive" },
	{ 0, 6, "\x93NUMPY", "is a NumPy array, not a TorchScript archive" },
	{ 4, 4, "TFL3", "is a TensorFlow Lite model, not a TorchScript archive" },
	{ 0, 4, "\x7f" "ELF", "is an ELF program or library, not a TorchScript archive" },
	{ 0, 2, "\x1f\x8b", "is gzip-compressed: unpack it first" },
	{ 0, 4, "\x28\xb5\x2f\xfd", "is zstd-compressed: unpack it first" },
	{ 0, 6, "\xfd" "7zXZ\0", "is xz-compressed: unpack it first" },
	{ 257, 5, "ustar", "is a tar file (a checkpoint of PyTorch 0.1?), not a TorchScript archive" },
	{ 0, 23, "version https://git-lfs", "is a Git LFS pointer, not the model: fetch it by `git lfs pull`" },
	{ 0, 9, "<!DOCTYPE", "is an HTML page, not a model" },
	{ 0, 5, "<html", "is an HTML page, not a model" },
	{ 0, 1, "\x80", "is a pickle, not a zip archive: weights or objects without a program" },
};

static bool
is_safetensors(const char *p, int64_t n)
{
	uint64_t header = 0;

	if (n < 9 || p[8] != '{')
		return false;
	for (int i = 7; i >= 0; i--)
		header = header << 8 | (unsigned char)p[i];
	return header <= (uint64_t)n - 8;
}

static const char *
say_what_it_is(const char *p, int64_t n)
{
	if (n == 0)
		return "is empty";
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (n >= magics[i].at + magics[i].n && !memcmp(p + magics[i].at, magics[i].bytes, (size_t)magics[i].n))
			return magics[i].says;
	if (is_safetensors(p, n))
		return "is a safetensors file: weights without a program";
	return NULL;
}

/* ---- the file and libzip's view of it ---------------------------------------------------------------- */

static char *
map_file(Cx *cx, const char *path, int64_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;
	int why;

	if (fd < 0)
		fail(cx, (Range){ 0 }, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	why = S_ISDIR(st.st_mode) ? EISDIR : errno;
	close(fd);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		fail(cx, (Range){ 0 }, "%s: is no regular file", path);
	if (S_ISREG(st.st_mode) && st.st_size == 0)
		fail(cx, (Range){ 0 }, "%s: is empty", path);
	if (p == MAP_FAILED)
		fail(cx, (Range){ 0 }, "%s: %s", path, strerror(why));
	*n = st.st_size;
	return p;
}

static zip_int64_t
source_read(Archive *a, void *data, zip_uint64_t n)
{
	int64_t left = a->n - a->at;
	int64_t take = n > (zip_uint64_t)left ? left : (int64_t)n;

	memcpy(data, a->map + a->at, (size_t)take);
	a->last = a->at;
	a->at += take;
	return take;
}

static zip_int64_t
source_stat(const Archive *a, zip_stat_t *st)
{
	zip_stat_init(st);
	st->size = (zip_uint64_t)a->n;
	st->valid = ZIP_STAT_SIZE;
	return sizeof *st;
}

static zip_int64_t
source(void *arg, void *data, zip_uint64_t n, zip_source_cmd_t command)
{
	Archive *a = arg;
	zip_int64_t to;

	switch (command) {
	case ZIP_SOURCE_SUPPORTS:
		return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
						      ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
						      ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
	case ZIP_SOURCE_OPEN:
		a->at = 0;
		return 0;
	case ZIP_SOURCE_READ:
		return source_read(a, data, n);
	case ZIP_SOURCE_SEEK:
		to = zip_source_seek_compute_offset((zip_uint64_t)a->at, (zip_uint64_t)a->n, data, n, &a->error);
		if (to < 0)
			return -1;
		a->at = to;
		return 0;
	case ZIP_SOURCE_TELL:
		return a->at;
	case ZIP_SOURCE_STAT:
		return source_stat(a, data);
	case ZIP_SOURCE_ERROR:
		return zip_error_to_data(&a->error, data, n);
	case ZIP_SOURCE_CLOSE:
	case ZIP_SOURCE_FREE:
		return 0;
	default:
		zip_error_set(&a->error, ZIP_ER_OPNOTSUPP, 0);
		return -1;
	}
}

RT_NORETURN static void
refuse(Archive *a, const char *why)
{
	Cx *cx = a->cx;
	const char *path = a->path;

	archive_close(a);
	fail(cx, (Range){ 0 }, "%s: %s", path, why);
}

static void
open_zip(Archive *a)
{
	bool zip = a->n >= 4 && !memcmp(a->map, "PK\3\4", 4);
	const char *is = zip ? NULL : say_what_it_is(a->map, a->n);
	zip_source_t *src;
	zip_error_t why;

	if (is)
		refuse(a, is);
	zip_error_init(&why);
	src = zip_source_function_create(source, a, &why);
	a->zip = src ? zip_open_from_source(src, ZIP_RDONLY, &why) : NULL;
	if (a->zip)
		return;
	if (src)
		zip_source_free(src);
	is = arena_printf(a->cx->arena, zip ? "is a zip archive that is truncated or damaged: %s"
	                                    : "is not a TorchScript archive: no zip file (%s)",
	                                    zip_error_strerror(&why));
	zip_error_fini(&why);
	refuse(a, is);
}

/* ---- members --------------------------------------------------------------------------------------------- */

static void
find_root(Archive *a)
{
	const char *first = zip_get_num_entries(a->zip, 0) > 0 ? zip_get_name(a->zip, 0, ZIP_FL_ENC_RAW) : NULL;
	const char *slash = first ? strchr(first, '/') : NULL;

	if (!first)
		refuse(a, "is a zip archive without members");
	if (!slash && !strncmp(first, "serialized_", 11)) { /* The oldest files of torch.export have no root folder. */
		a->root = "";
		return;
	}
	if (!slash)
		refuse(a, arena_printf(a->cx->arena, "is a zip archive, but its first member '%s' is not in a folder, "
			"as all of an archive of torch.jit.save are", first));
	a->root = arena_strndup(a->cx->arena, first, slash + 1 - first);
}

static Member *
member_read(Archive *a, uint64_t index, const char **name)
{
	Arena *arena = a->cx->arena;
	Member *m = new(arena, Member, 1);
	zip_stat_t st;

	if (zip_stat_index(a->zip, index, ZIP_FL_ENC_RAW, &st) != 0
	    || (~st.valid & (ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC | ZIP_STAT_COMP_METHOD)))
		refuse(a, arena_printf(arena, "entry %d of the zip directory is damaged", (int)index));
	if (st.size > INT64_MAX || st.comp_size > (zip_uint64_t)a->n)
		refuse(a, arena_printf(arena, "%s: has more bytes than the file: truncated or damaged", st.name));
	m->index = index;
	m->n = (int64_t)st.size;
	m->packed = (int64_t)st.comp_size;
	m->crc = st.crc;
	m->method = st.comp_method;
	m->encrypted = (st.valid & ZIP_STAT_ENCRYPTION_METHOD) && st.encryption_method != ZIP_EM_NONE;
	*name = arena_strdup(arena, st.name);
	return m;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Indexes all members. Sets the hash to that of their names, sizes and CRCs, in order. */
static void
index_members(Archive *a)
{
	int64_t n = zip_get_num_entries(a->zip, 0), root = (int64_t)strlen(a->root);
	uint64_t facts[3] = { 0 };

	a->members.arena = a->cx->arena;
	a->names = new(a->cx->arena, const char *, n);
	for (int64_t i = 0; i < n; i++) {
		const char *name;
		Member *m = member_read(a, (uint64_t)i, &name);

		facts[0] ^= hash_bytes(name, (int64_t)strlen(name));
		facts[1] = (uint64_t)m->n;
		facts[2] = m->crc;
		facts[0] = hash_bytes(facts, sizeof facts);
		if (strncmp(name, a->root, (size_t)root) || !name[root] || name[strlen(name) - 1] == '/')
			continue;
		name += root;
		if (map_get(&a->members, name))
			refuse(a, arena_printf(a->cx->arena, "%s: two members have this name", name));
		map_put(&a->members, name, m);
		a->names[a->nnames++] = name;
	}
	a->hash = facts[0];
	qsort(a->names, (size_t)a->nnames, sizeof *a->names, by_name);
}

static void
close_at_end(void *a)
{
	archive_close(a);
}

static Archive *
open_map(Archive *a)
{
	arena_at_end(a->cx->arena, close_at_end, a);
	zip_error_init(&a->error);
	open_zip(a);
	find_root(a);
	index_members(a);
	return a;
}

Archive *
archive_open(Cx *cx, const char *path)
{
	Archive *a = new(cx->arena, Archive, 1);

	a->cx = cx;
	a->path = arena_strdup(cx->arena, path);
	a->map = map_file(cx, a->path, &a->n);
	a->file = new(cx->arena, FileMap, 1);
	*a->file = (FileMap){ a->map, a->n, cx->file_maps };
	cx->file_maps = a->file;
	return open_map(a);
}

void
archive_forget(const Cx *cx, const void *data, int64_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)data + page - 1) & ~(page - 1),
			end = ((uintptr_t)data + (uintptr_t)n) & ~(page - 1);

	for (const FileMap *f = cx->file_maps; f && first < end; f = f->next)
		if (first >= (uintptr_t)f->at && end <= (uintptr_t)f->at + (uintptr_t)f->n)
			madvise((void *)first, end - first, MADV_DONTNEED);
}

Archive *
archive_nested(Archive *outer, const char *member)
{
	Archive *a = new(outer->cx->arena, Archive, 1);
	Record r = archive_record(outer, member);

	a->cx = outer->cx;
	a->path = arena_printf(a->cx->arena, "%s: %s", outer->path, member);
	a->map = (char *)(uintptr_t)r.data;
	a->n = r.n;
	a->nested = true;
	return open_map(a);
}

void
archive_close(Archive *a)
{
	if (a->zip)
		zip_discard(a->zip);
	if (a->map && !a->nested) {
		munmap(a->map, (size_t)a->n);
		a->file->n = 0;
	}
	for (int i = 0; i < a->maps.n; i++)
		munmap(a->maps.at[i], (size_t)a->n);
	a->zip = NULL;
	a->map = NULL;
	a->maps.n = 0;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* Bytes of an entry's header and of an extra field's header, and the id "FB" of PyTorch's padding field. */
enum { HEADER = 30, FIELD = 4, PADDING = 0x4246 };

RT_NORETURN static void
not_written(Cx *cx, const char *path, const char *why)
{
	fail(cx, (Range){ 0 }, "%s: cannot be written: %s", path, why);
}

/* Adds an extra field that moves the data to a multiple of 64 bytes. Returns the offset of the entry's end. */
static int64_t
pad_entry(zip_t *z, zip_uint64_t index, int64_t at, int64_t name, int64_t n, bool *fine)
{
	zip_uint8_t blank[64];
	const int64_t fill = (64 - (at + HEADER + name + FIELD) % 64) % 64;

	memset(blank, 'Z', sizeof blank);
	*fine &= !zip_file_extra_field_set(z, index, PADDING, ZIP_EXTRA_FIELD_NEW, blank, (zip_uint16_t)fill,
					   ZIP_FL_LOCAL);
	return at + HEADER + name + FIELD + fill + n;
}

/* Adds the members to z. Returns false on failure, with the error in z. */
static bool
put_members(Cx *cx, zip_t *z, const char *root, const Record *members, int n)
{
	int64_t at = 0;
	bool fine = true;

	for (int i = 0; i < n && fine; i++) {
		const char *name = arena_printf(cx->arena, "%s/%s", root, members[i].name);
		zip_source_t *data = zip_source_buffer(z, members[i].data, (zip_uint64_t)members[i].n, 0);
		const zip_int64_t index = data ? zip_file_add(z, name, data, ZIP_FL_ENC_UTF_8) : -1;

		if (data && index < 0)
			zip_source_free(data);
		fine = index >= 0 && !zip_set_file_compression(z, (zip_uint64_t)index, ZIP_CM_STORE, 0) &&
		       !zip_file_set_dostime(z, (zip_uint64_t)index, 0, 0x21, 0);
		if (fine)
			at = pad_entry(z, (zip_uint64_t)index, at, (int64_t)strlen(name), members[i].n, &fine);
	}
	return fine;
}

/* A zip source that writes to an open file. If libzip had a path, it would create a temporary file with a random name
 * beside it. To make the name it starts libcrypto, which crashes when memory is exhausted. */
typedef struct Sink {
	FILE *file;
	int64_t at, n;          /* Position and size. */
	zip_error_t error;
} Sink;

static zip_int64_t
sink_failed(Sink *s)
{
	zip_error_set(&s->error, ZIP_ER_WRITE, errno);
	return -1;
}

static zip_int64_t
sink_write(Sink *s, const void *data, zip_uint64_t n)
{
	if (fwrite(data, 1, (size_t)n, s->file) != n)
		return sink_failed(s);
	s->at += (int64_t)n;
	s->n = s->at > s->n ? s->at : s->n;
	return (zip_int64_t)n;
}

static zip_int64_t
sink_seek(Sink *s, void *data, zip_uint64_t n)
{
	const zip_int64_t to = zip_source_seek_compute_offset((zip_uint64_t)s->at, (zip_uint64_t)s->n, data, n,
							      &s->error);

	if (to < 0)
		return -1;
	if (fseek(s->file, (long)to, SEEK_SET))
		return sink_failed(s);
	s->at = to;
	return 0;
}

static zip_int64_t
sink(void *arg, void *data, zip_uint64_t n, zip_source_cmd_t command)
{
	Sink *s = arg;

	switch (command) {
	case ZIP_SOURCE_SUPPORTS:
		return ZIP_SOURCE_SUPPORTS_WRITABLE;
	case ZIP_SOURCE_STAT:
		zip_error_set(&s->error, ZIP_ER_READ, ENOENT);
		return -1;
	case ZIP_SOURCE_WRITE:
		return sink_write(s, data, n);
	case ZIP_SOURCE_SEEK_WRITE:
		return sink_seek(s, data, n);
	case ZIP_SOURCE_TELL_WRITE:
		return s->at;
	case ZIP_SOURCE_COMMIT_WRITE:
		return fflush(s->file) ? sink_failed(s) : 0;
	case ZIP_SOURCE_ERROR:
		return zip_error_to_data(&s->error, data, n);
	case ZIP_SOURCE_BEGIN_WRITE:
	case ZIP_SOURCE_ROLLBACK_WRITE:
	case ZIP_SOURCE_REMOVE:
	case ZIP_SOURCE_CLOSE:
	case ZIP_SOURCE_FREE:
		return 0;
	default:
		zip_error_set(&s->error, ZIP_ER_OPNOTSUPP, 0);
		return -1;
	}
}

/* Writes the archive. Returns null on success, else the reason of the failure. */
static const char *
write_members(Cx *cx, FILE *f, const char *root, const Record *members, int n)
{
	Sink s = { .file = f };
	const char *said = NULL;
	zip_source_t *to;
	zip_error_t why;
	zip_t *z;

	zip_error_init(&s.error);
	zip_error_init(&why);
	to = zip_source_function_create(sink, &s, &why);
	z = to ? zip_open_from_source(to, ZIP_CREATE | ZIP_TRUNCATE, &why) : NULL;
	if (!z) {
		said = arena_strdup(cx->arena, zip_error_strerror(&why));
		if (to)
			zip_source_free(to);
	} else if (!put_members(cx, z, root, members, n) || zip_close(z)) {
		said = arena_strdup(cx->arena, zip_strerror(z));
		zip_discard(z);
	}
	zip_error_fini(&why);
	zip_error_fini(&s.error);
	return said;
}

/* Copies the whole file. Returns false and sets errno if not all of it was written. */
static bool
copy_stream(FILE *from, FILE *to)
{
	char block[1 << 14];
	size_t n;
	bool ok = true;

	rewind(from);
	while (ok && (n = fread(block, 1, sizeof block, from)) > 0)
		ok = fwrite(block, 1, n, to) == n;
	return ok && !ferror(from) && !fflush(to);
}

/* Writes to a stream that cannot seek, through a temporary file. Returns null on success, else the reason of the
 * failure. */
static const char *
write_through(Cx *cx, FILE *to, const char *root, const Record *members, int n)
{
	FILE *seekable = tmpfile();
	const char *said = seekable ? write_members(cx, seekable, root, members, n) : strerror(errno);

	if (!said && !copy_stream(seekable, to))
		said = arena_strdup(cx->arena, strerror(errno));
	if (seekable)
		fclose(seekable);
	return said;
}

/* Writes an archive. Equal members give equal bytes, since entries have no date. */
void
archive_write(Cx *cx, const char *path, const char *root, const Record *members, int n)
{
	const bool seeks = rt_replaces(path) && !rt_is_stdout(path);
	const char *said;
	RtWhole w;

	RT_ASSERT(n >= 0);
	if (!rt_whole_open(&w, path))
		not_written(cx, path, strerror(errno));
	said = seeks ? write_members(cx, w.file, root, members, n) : write_through(cx, w.file, root, members, n);
	if (rt_whole_end(&w, !said))
		not_written(cx, path, said ? said : strerror(errno));
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

/* Ends the process if memory is exhausted, so that no caller takes this for an error of the archive. */
static void
check_memory(zip_error_t *why)
{
	const int code = zip_error_code_zip(why);

	if (code == ZIP_ER_MEMORY || (code == ZIP_ER_ZLIB && zip_error_code_system(why) == Z_MEM_ERROR))
		out_of_memory();
}

RT_NORETURN static void
bad(Archive *a, const char *name, const char *why)
{
	fail(a->cx, (Range){ 0 }, "%s: %s: %s", a->path, name, why);
}

static zip_file_t *
open_member(Archive *a, const char *name, const Member *m, zip_flags_t flags)
{
	zip_file_t *f = zip_fopen_index(a->zip, m->index, flags);

	if (!f)
		check_memory(zip_get_error(a->zip));
	if (!f)
		bad(a, name, arena_printf(a->cx->arena, "is damaged: %s", zip_strerror(a->zip)));
	return f;
}

/* Returns the data of a stored member. It follows the local header, whose length is unknown. Therefore one byte is read
 * to find its offset. */
static const char *
find_stored(Archive *a, const char *name, Member *m)
{
	zip_file_t *f = open_member(a, name, m, ZIP_FL_COMPRESSED);
	char byte;
	zip_int64_t got = zip_fread(f, &byte, 1);

	check_memory(zip_file_get_error(f));
	zip_fclose(f);
	if (got != 1 || m->n != m->packed || m->n > a->n - a->last)
		bad(a, name, "is damaged: its bytes lie outside the file");
	return a->map + a->last;
}

/* Deflate packs at most 1032 bytes into one. Fails on a member that claims more, or if all members together are too
 * large. */
static void
check_size(Archive *a, const char *name, const Member *m)
{
	if (m->n / 1032 > m->packed)
		bad(a, name,
		    arena_printf(a->cx->arena, "claims to inflate from %lld to %lld bytes", (long long)m->packed,
				 (long long)m->n));
	if (a->inflated > ((int64_t)4 << 30) + 16 * a->n)
		bad(a, name, "the members of this archive inflate to more than a model of this size should");
}

static const char *
inflate_member(Archive *a, const char *name, Member *m)
{
	zip_file_t *f;
	char *data;
	int64_t have = 0;

	check_size(a, name, m);
	a->inflated += m->n;
	data = arena_take(a->cx->arena, m->n + 1);
	f = open_member(a, name, m, 0);
	while (have < m->n) {
		zip_int64_t got = zip_fread(f, data + have, (zip_uint64_t)(m->n - have));

		if (got <= 0)
			break;
		have += got;
	}
	check_memory(zip_file_get_error(f));
	zip_fclose(f);
	if (have < m->n)
		bad(a, name, "is damaged: it cannot be inflated");
	return data;
}

/* Checks the member's CRC. Skips a stored member with a CRC of 0, whose writer was told not to compute it. */
static void
check_crc(Archive *a, const char *name, const Member *m)
{
	uint32_t crc = 0;

	for (int64_t at = 0; at < m->n; at += CRC_PIECE) {
		const int64_t n = m->n - at < CRC_PIECE ? m->n - at : CRC_PIECE;

		crc = (uint32_t)crc32_z(crc, (const unsigned char *)m->record.data + at, (size_t)n);
		archive_forget(a->cx, m->record.data + at, n);
	}

	if (crc != m->crc && !(m->crc == 0 && m->method == ZIP_CM_STORE))
		bad(a, name,
		    arena_printf(a->cx->arena, "is damaged: its CRC-32 is %08x, the archive says %08x", (unsigned)crc,
				 (unsigned)m->crc));
}

Record
archive_record(Archive *a, const char *name)
{
	Member *m = map_get(&a->members, name);

	if (!m)
		bad(a, name, "is missing from the archive");
	if (m->read)
		return m->record;
	if (m->encrypted)
		bad(a, name, "is encrypted");
	if (m->method != ZIP_CM_STORE && m->method != ZIP_CM_DEFLATE)
		fail_lacks(a->cx, (Range){ 0 }, "%s: %s: compression method %d (known are stored and deflated)",
			   a->path, name, m->method);
	m->record.name = name;
	m->record.n = m->n;
	if (m->n == 0)
		m->record.data = "";
	else
		m->record.data = m->method == ZIP_CM_STORE ? find_stored(a, name, m) : inflate_member(a, name, m);
	check_crc(a, name, m);
	m->read = true;
	return m->record;
}

bool
archive_has(Archive *a, const char *name)
{
	return map_get(&a->members, name) != NULL;
}

const char *
archive_extra(const char *record)
{
	return strncmp(record, "extra/", 6) ? NULL : record + 6;
}

int
archive_names(Archive *a, const char *const **names)
{
	*names = a->names;
	return a->nnames;
}

Cx *
archive_cx(Archive *a)
{
	return a->cx;
}

const char *
archive_path(Archive *a)
{
	return a->path;
}

uint64_t
archive_hash(Archive *a)
{
	return a->hash;
}

int64_t
archive_offset(Archive *a, const char *p)
{
	if (p >= a->map && p < a->map + a->n)
		return p - a->map;
	for (int i = 0; i < a->maps.n; i++)
		if (p >= a->maps.at[i] && p < a->maps.at[i] + a->n)
			return p - a->maps.at[i];
	return -1;
}

char *
archive_remap(Archive *a)
{
	int64_t n;
	char *p = map_file(a->cx, a->path, &n);

	if (n != a->n) {
		munmap(p, (size_t)n);
		fail(a->cx, (Range){ 0 }, "%s: was changed while in use", a->path);
	}
	vec_push(a->cx->arena, &a->maps, p);
	return p;
}
