package docpage

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a project may be named, described and written as must neither break the page nor
// become part of its markup.
func TestHTMLEscapes(t *testing.T) {
	nasty := "</script><script>alert(1)</script> <!-- <img src=x onerror=alert(1)> ]]> \" ' ` ${x} {{SCRIPT}} {{TITLE}} \u2028 \u2029 é 漢字 🦆 \\ \x00"
	want := Page{Project: nasty, Version: nasty, Nodes: []Node{{
		ID: "model.p." + nasty, Name: nasty, Type: "model", Description: nasty, Raw: nasty, Compiled: nasty, Tags: []string{nasty},
		Columns: []Column{{Name: nasty, Description: nasty, Notes: []string{nasty}}}, Facts: [][2]string{{"Strategy", nasty}},
	}}}
	page, err := HTML(want, func(s string) string { return strings.ReplaceAll(s, "p&ss<word", "***") })
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d elements end, 2 are the page's", n)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "alert(1)</") {
		t.Error("text of the project is markup")
	}
	m := regexp.MustCompile(`(?s)<script id="data" type="application/json">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("there is no data")
	}
	var got Page
	if err := json.Unmarshal([]byte(m[1]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The page loads nothing, and a secret is found before its letters are escaped.
func TestHTMLIsClosed(t *testing.T) {
	page, err := HTML(Page{Project: "p", Nodes: []Node{{ID: "a", Raw: "-- p&ss<word"}}}, func(s string) string { return strings.ReplaceAll(s, "p&ss<word", "***") })
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "ss\\u003cword") || !strings.Contains(page, `"raw":"-- ***"`) {
		t.Error("the secret is in the page")
	}
	page = strings.ReplaceAll(page, "url(#tip", "")
	for _, load := range []string{`src=`, `@import`, `url(`, "fetch(", "XMLHttpRequest", "innerHTML", "eval("} {
		if strings.Contains(page, load) {
			t.Errorf("the page has %s", load)
		}
	}
	if refs := regexp.MustCompile(`https?://[^\s"']+`).FindAllString(page, -1); len(refs) != 1 || refs[0] != "http://www.w3.org/2000/svg" {
		t.Errorf("the page names %v", refs)
	}
}
