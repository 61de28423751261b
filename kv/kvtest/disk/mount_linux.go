package disk

import (
	"context"
	"fmt"
	iofs "io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"doorward/kv/kvtest/proof"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount puts a disk below a folder until unmount is called: by then the processes that worked on it must have ended. The process that mounts
// must not map its files into memory: it would wait for ever for a page that it must itself deliver.
func (d *Disk) Mount(dir string) (unmount func() error, err error) {
	long := time.Hour // nothing else changes a file
	server, err := fs.Mount(dir, &node{disk: d, file: d.Root()}, &fs.Options{
		EntryTimeout: &long, AttrTimeout: &long, NegativeTimeout: &long,
		UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
		MountOptions: fuse.MountOptions{
			DirectMount: true, Name: "disk", FsName: "disk", DisableXAttrs: true, ExplicitDataCacheControl: true, MaxWrite: 1 << 20,
			EnableLocks: d.config.Lacks.Locks, // nothing here answers them
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount a disk at %s: %w", dir, err)
	}
	return func() error { return patiently(server.Unmount) }, nil
}

// busyFor is how long the system may hold a disk after the last process that worked on it has ended.
const busyFor = 10 * time.Second

// patiently unmounts once the system lets go: it closes the files of a process that was killed shortly after the process has ended.
func patiently(unmount func() error) (err error) {
	for late := time.Now().Add(busyFor); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		if err = unmount(); err == nil {
			return nil
		}
	}
	return err
}

// MountFor mounts a disk in a folder until unmount is called or the test ends. The test is skipped where there is no FUSE, but not
// in make test, which installs it.
func (d *Disk) MountFor(t testing.TB) (dir string, unmount func()) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		proof.Missing(t, "FUSE is wanted (Debian: sudo apt-get install fuse3): %v", err)
	}
	dir = t.TempDir()
	end, err := d.Mount(dir)
	if err != nil {
		t.Fatalf("FUSE is wanted (Debian: sudo apt-get install fuse3): %v", err)
	}
	unmount = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	t.Cleanup(unmount)
	return dir, unmount
}

// node is a file as the system sees it. Its pages are cached for reading; every write and sync comes here at once.
type node struct {
	fs.Inode
	disk *Disk
	file *File
}

var (
	_ = fs.NodeLookuper((*node)(nil))
	_ = fs.NodeReaddirer((*node)(nil))
	_ = fs.NodeGetattrer((*node)(nil))
	_ = fs.NodeSetattrer((*node)(nil))
	_ = fs.NodeCreater((*node)(nil))
	_ = fs.NodeMkdirer((*node)(nil))
	_ = fs.NodeMknoder((*node)(nil))
	_ = fs.NodeLinker((*node)(nil))
	_ = fs.NodeUnlinker((*node)(nil))
	_ = fs.NodeRmdirer((*node)(nil))
	_ = fs.NodeRenamer((*node)(nil))
	_ = fs.NodeOpener((*node)(nil))
	_ = fs.NodeReader((*node)(nil))
	_ = fs.NodeWriter((*node)(nil))
	_ = fs.NodeFsyncer((*node)(nil))
	_ = fs.NodeStatfser((*node)(nil))
)

var kinds = map[iofs.FileMode]uint32{0: syscall.S_IFREG, iofs.ModeDir: syscall.S_IFDIR, iofs.ModeSocket: syscall.S_IFSOCK}

func (n *node) child(ctx context.Context, f *File) *fs.Inode {
	return n.NewInode(ctx, &node{disk: n.disk, file: f}, fs.StableAttr{Mode: kinds[f.mode.Type()], Ino: uint64(f.inode)})
}

func (n *node) attributes(f *File, out *fuse.Attr) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	out.Ino, out.Size, out.Nlink = uint64(f.inode), uint64(f.content.size), uint32(max(f.links, 1))
	out.Mode = kinds[f.mode.Type()] | uint32(f.mode.Perm())
	if lacks := n.disk.config.Lacks; lacks.Modes || lacks.Chmod != 0 {
		out.Mode |= 0o777
	}
	out.Blocks = uint64(len(f.content.blocks) * blockSize / SectorSize)
	out.Uid, out.Gid = uint32(os.Geteuid()), uint32(os.Getegid())
	out.SetTimes(nil, &f.changed, &f.changed)
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f := n.disk.lookup(n.file, name)
	if f == nil {
		return nil, syscall.ENOENT
	}
	n.attributes(f, &out.Attr)
	return n.child(ctx, f), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	var list []fuse.DirEntry
	for name, f := range n.file.names {
		list = append(list, fuse.DirEntry{Name: name, Mode: kinds[f.mode.Type()], Ino: uint64(f.inode)})
	}
	slices.SortFunc(list, func(a, b fuse.DirEntry) int { return int(a.Ino) - int(b.Ino) })
	return fs.NewListDirStream(list), 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.attributes(n.file, &out.Attr)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		n.disk.resize(n.file, int64(size))
	}
	mode, ok := in.GetMode()
	if errno := n.disk.config.Lacks.Chmod; ok && errno != 0 {
		return errno
	}
	if ok {
		n.disk.mu.Lock()
		n.file.mode = n.file.mode.Type() | iofs.FileMode(mode).Perm()
		n.disk.mu.Unlock()
	}
	n.attributes(n.file, &out.Attr)
	return 0
}

func (n *node) make(ctx context.Context, name string, mode iofs.FileMode, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f, errno := n.disk.make(n.file, name, mode)
	if errno != 0 {
		return nil, errno
	}
	n.attributes(f, &out.Attr)
	return n.child(ctx, f), 0
}

func (n *node) Create(ctx context.Context, name string, _ uint32, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	made, errno := n.make(ctx, name, iofs.FileMode(mode).Perm(), out)
	return made, nil, 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.make(ctx, name, iofs.ModeDir|iofs.FileMode(mode).Perm(), out)
}

// Mknod makes files, and the sockets that are bound to a name.
func (n *node) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	for kind, is := range kinds {
		if mode&syscall.S_IFMT == is && kind != iofs.ModeDir && !(kind == iofs.ModeSocket && n.disk.config.Lacks.Sockets) {
			return n.make(ctx, name, kind|iofs.FileMode(mode).Perm(), out)
		}
	}
	return nil, syscall.EPERM
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f := target.(*node).file
	if errno := n.disk.link(f, n.file, name); errno != 0 {
		return nil, errno
	}
	n.attributes(f, &out.Attr)
	return n.child(ctx, f), 0
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.disk.remove(n.file, name)
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.disk.remove(n.file, name)
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, next string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	return n.disk.rename(n.file, name, to.(*node).file, next)
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		n.disk.resize(n.file, 0)
	}
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, data []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	return fuse.ReadResultData(data[:n.disk.read(n.file, data, at)]), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	took, errno := n.disk.write(n.file, data, at)
	return uint32(took), errno
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	if errno := n.disk.config.Lacks.FolderSync; errno != 0 && n.file.mode.IsDir() {
		return errno
	}
	return fs.ToErrno(n.disk.sync(n.file))
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	if n.disk.config.Lacks.Room {
		return 0
	}
	const plenty = 1 << 40
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	free := n.disk.shown
	if free < 0 {
		free = plenty
	}
	out.Bsize, out.Frsize, out.NameLen = blockSize, blockSize, 255
	out.Blocks, out.Bfree, out.Bavail = plenty/blockSize, uint64(free/blockSize), uint64(free/blockSize)
	return 0
}
