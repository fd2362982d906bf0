package servers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The root element is <yandex>: old servers know no other, new ones still read it.
const clickhouseConfig = `<yandex>
<logger><level>warning</level><log>{home}/log</log><errorlog>{home}/error.log</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<max_connections>512</max_connections>
<path>{home}/data/</path><tmp_path>{home}/tmp/</tmp_path><user_files_path>{home}/user_files/</user_files_path>
<users_config>{home}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<timezone>{zone}</timezone><mark_cache_size>268435456</mark_cache_size>
</yandex>
`

// reader may change nothing, stranger sees no database but the first.
const clickhouseUsers = `<yandex>
<profiles><default><max_memory_usage>4000000000</max_memory_usage></default>
<reader><readonly>2</readonly></reader></profiles>
<users><dvt><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></dvt>
<reader><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>reader</profile><quota>default</quota></reader>
<stranger><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota><allow_databases><database>dvt</database></allow_databases></stranger></users>
<quotas><default/></quotas>
</yandex>
`

func (s *Set) startClickHouse(ctx context.Context) error {
	const owner = "clickhouse"
	home, err := s.home("clickhouse", owner)
	if err != nil {
		return fmt.Errorf("starting ClickHouse: %w", err)
	}
	tcp, err := freePort()
	if err != nil {
		return err
	}
	web, err := freePort()
	if err != nil {
		return err
	}
	password := randomPassword()
	fill := strings.NewReplacer("{home}", home, "{zone}", s.zone, "{http}", web, "{tcp}", tcp, "{password}", password)
	for name, text := range map[string]string{"config.xml": clickhouseConfig, "users.xml": clickhouseUsers} {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o600); err != nil {
			return err
		}
		if err := chown(path, owner); err != nil {
			return err
		}
	}
	for _, name := range []string{"data", "tmp", "user_files"} {
		if _, err := s.home(filepath.Join("clickhouse", name), owner); err != nil {
			return err
		}
	}
	url := "http://" + net.JoinHostPort("127.0.0.1", web) + "/"
	err = s.run(ctx, processSpec{
		name: "ClickHouse", user: owner, path: find("clickhouse-server"),
		args: []string{"--config-file=" + filepath.Join(home, "config.xml")},
		logs: []string{filepath.Join(home, "out"), filepath.Join(home, "error.log")}, quit: syscall.SIGKILL,
	}, func(ctx context.Context) error {
		return clickhouseExec(ctx, url, "dvt", password, "CREATE DATABASE IF NOT EXISTS dvt")
	})
	if err != nil {
		return err
	}
	s.export("CH", "HOST", "127.0.0.1", "PORT", tcp, "HTTP_PORT", web, "USER", "dvt", "PASSWORD", password, "DATABASE", "dvt")
	return nil
}

func clickhouseExec(ctx context.Context, url, user, password, query string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(query))
	if err != nil {
		return err
	}
	req.SetBasicAuth(user, password)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	return err
}
