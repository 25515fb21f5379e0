# ruff: noqa: E501 -- programs print lines as long as they like
"""What Java programs print when something fails, after OpenJDK 21 and Maven."""

from __future__ import annotations

from keep.patterns.programs.printed import Output

OUTPUTS = (
    Output(
        "Java",
        "java.lang.NullPointerException",
        """Exception in thread "http-nio-⟨port⟩-exec-⟨small⟩" java.lang.NullPointerException: Cannot invoke "com.shop.‹Order|Cart|Customer›.‹getTotal|getId|getLines›()" because "<local⟨small⟩>" is null
⋮	at com.shop.billing.Invoices.sum(Invoices.java:⟨line⟩)
⋮	at com.shop.billing.Invoices$$Lambda/⟨address⟩.apply(Unknown Source)
⋮	at java.base/java.util.ArrayList.forEach(ArrayList.java:⟨line⟩)
⋮	at java.base/java.lang.Thread.run(Thread.java:⟨line⟩)
""",
    ),
    Output(
        "Java",
        "org.springframework.beans.factory.BeanCreationException",
        """⟨iso⟩ ERROR ⟨pid⟩ --- [main] o.s.boot.SpringApplication : Application run failed
org.springframework.beans.factory.BeanCreationException: Error creating bean with name '‹orderService|userRepository|mailer›' defined in file [⟨root⟩/target/classes/Config.class]
⋮	at org.springframework.beans.factory.support.AbstractBeanFactory.getBean(AbstractBeanFactory.java:⟨line⟩) ~[spring-beans-6.1.⟨small⟩.jar:6.1.⟨small⟩]
⋮	... ⟨small⟩ common frames omitted
Caused by: java.lang.‹IllegalStateException|IllegalArgumentException|ClassNotFoundException›: ‹pool is closed|no such profile|unknown driver›
⋮	at com.zaxxer.hikari.pool.HikariPool.<init>(HikariPool.java:⟨line⟩)
⋮	... ⟨small⟩ more
""",
    ),
    Output(
        "Java",
        "java.lang.ClassCastException",
        "class ‹java.lang.String|java.lang.Integer|com.shop.Order› cannot be cast to class ‹java.util.List|java.util.Map|com.shop.Cart›"
        " (they are in unnamed module of loader 'app' @⟨identity⟩)",
    ),
    Output(
        "Java",
        "javac",
        """[INFO] Compiling ⟨small⟩ source files to ⟨root⟩/target/classes
[ERROR] ⟨root⟩/src/main/java/com/shop/‹Order|Cart|Invoice›.java:[⟨line⟩,⟨column⟩] cannot find symbol
[ERROR]   symbol:   ‹method|variable|class› ‹getTotal|sumOf|taxes›
[ERROR]   location: class com.shop.billing.Invoices
[INFO] Total time:  ⟨took⟩
[INFO] Finished at: ⟨iso⟩
""",
    ),
    Output(
        "Java",
        "java.lang.OutOfMemoryError",
        "‹Java heap space|GC overhead limit exceeded|Metaspace› (pid ⟨pid⟩, used ⟨size⟩ of ⟨size⟩, dump java_pid⟨pid⟩.hprof)",
    ),
    Output(
        "Java",
        "java.sql.SQLException",
        "ORA-‹00942|01017|12541›: ‹table or view does not exist|invalid credentials|no listener›, session ⟨uuid⟩, ⟨elapsed⟩",
    ),
    Output(
        "Java",
        "java.net.UnknownHostException",
        """⟨clock⟩ [pool-⟨small⟩-thread-⟨small⟩] WARN com.shop.Mailer@⟨identity⟩ - ‹smtp|imap|relay›.example.org: Name or service not known
⋮	at java.base/java.net.Inet6AddressImpl.lookupAllHostAddr(Native Method)
⋮	at com.shop.Mailer.send(Mailer.java:⟨line⟩)
""",
    ),
)
