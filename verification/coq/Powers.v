(* The product of profiles is associative and commutative, so T steps that are composed one by one are one power of the
   profile, as the program takes it. If one profile L is above every step at one function g, powers of L are above all steps:
   a leader need not dominate each step, only lead it at g. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Export Composition.
Import ListNotations.
Open Scope R_scope.

(* K composed n times, and then with g. *)
Fixpoint power (K : profile) (n : nat) (g : profile) : profile :=
  match n with O => g | S n' => product K (power K n' g) end.

Lemma power_proper K n g : proper K -> proper g -> proper (power K n g).
Proof. intros PK Pg. induction n; simpl; [ assumption | now apply product_proper ]. Qed.

(** Settles: COMPOSITION. The order of composition does not matter. *)
Theorem product_commutative :
  forall (K f : profile) (y : R), proper K -> proper f -> value (product K f) y = value (product f K) y.
Proof.
  intros K f y PK Pf. rewrite (product_second_form K f) by assumption.
  rewrite (product_first_form f K) by (intros; solve [ now apply Pf | now apply PK ]). reflexivity.
Qed.

(** Settles: COMPOSITION. Nor do brackets. *)
Theorem product_associative :
  forall (K f g : profile) (y : R), proper K -> proper f -> proper g ->
  value (product K (product f g)) y = value (product (product K f) g) y.
Proof.
  intros K f g y PK Pf Pg.
  rewrite (product_second_form (product K f) g) by auto using product_proper.
  rewrite (product_first_form K (product f g))
    by (intros; solve [ now apply PK | now apply (product_proper f g) ]).
  rewrite (lsum_ext (fun a => fst a * value (product f g) (y / snd a))
    (fun a => base g * fst a + lsum (fun b => fst b * (fst a * value f (y / snd a / snd b))) (atoms g))).
  2: { intros a _. rewrite product_second_form by assumption. rewrite Rmult_plus_distr_l, <- lsum_scal.
       f_equal; [ ring | ]. apply lsum_ext; intros; ring. }
  rewrite (lsum_ext (fun b => fst b * value (product K f) (y / snd b))
    (fun b => base K * fst b + lsum (fun a => fst b * (fst a * value f (y / snd a / snd b))) (atoms K))).
  2: { intros b Hb. rewrite product_first_form by (intros; solve [ now apply PK | now apply Pf ]).
       rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ]. apply lsum_ext. intros a Ha.
       destruct PK as (_ & PK & _), Pg as (_ & Pg & _). pose proof (PK a Ha). pose proof (Pg b Hb).
       replace (y / snd b / snd a) with (y / snd a / snd b) by (field; lra). reflexivity. }
  rewrite !lsum_plus, !lsum_scal, lsum_swap.
  destruct PK as (_ & _ & K1), Pg as (_ & _ & g1).
  change (lsum (fun a => fst a) (atoms K)) with (lsum fst (atoms K)).
  change (lsum (fun b => fst b) (atoms g)) with (lsum fst (atoms g)).
  replace (lsum fst (atoms K)) with (1 - base K) by lra. replace (lsum fst (atoms g)) with (1 - base g) by lra. ring.
Qed.

(* A factor in front of a power may be taken inside. *)
Lemma product_into_power K L n g y : proper K -> proper L -> proper g -> 0 <= y ->
  value (product K (power L n g)) y = value (power L n (product K g)) y.
Proof.
  intros PK PL Pg. revert y. induction n as [ | n IH ]; intros y Hy; [ reflexivity | ]. simpl.
  assert (P1 : proper (power L n g)) by now apply power_proper.
  assert (P2 : proper (product K (power L n g))) by now apply product_proper.
  assert (P3 : proper (power L n (product K g))) by (apply power_proper; [ assumption | now apply product_proper ]).
  rewrite product_associative, (product_commutative (product K L)) by auto using product_proper.
  rewrite (product_commutative (power L n g)) by auto using product_proper.
  transitivity (value (product (product L K) (power L n g)) y).
  { rewrite !(product_second_form _ (power L n g)) by auto using product_proper. f_equal. apply lsum_ext. intros b _. f_equal.
    now apply product_commutative. }
  rewrite <- product_associative by assumption.
  rewrite !product_first_form by (intros; solve [ now apply PL | now apply P2 | now apply P3 ]). f_equal.
  apply lsum_ext. intros a Ha. f_equal. apply IH. apply Rmult_le_pos; [ assumption | ].
  left. apply Rinv_0_lt_compat. now apply PL.
Qed.

(** Settles: COMPOSITION, L. T steps composed one by one, last to first or first to last, are one power. *)
Theorem power_splits :
  forall (K g : profile) (m n : nat) (y : R), proper K -> proper g -> 0 <= y ->
  value (power K (m + n) g) y = value (power K m (power K n g)) y /\
  value (power K (S n) g) y = value (power K n (product K g)) y /\
  value (power K (S n) unit_profile) y = value (product (power K n unit_profile) K) y.
Proof.
  intros K g m n y PK Pg Hy. repeat split.
  - induction m as [ | m IH ]; [ reflexivity | ]. simpl. f_equal.
    assert (E : forall m, power K (m + n) g = power K m (power K n g)) by (induction m0; simpl; congruence).
    now rewrite E.
  - now apply product_into_power.
  - simpl. apply product_commutative; [ assumption | ]. apply power_proper; auto using unit_proper.
Qed.

Lemma power_monotone L n g g' : proper L -> proper g -> proper g' ->
  (forall y, 0 <= y -> value g y <= value g' y) -> forall y, 0 <= y -> value (power L n g) y <= value (power L n g') y.
Proof.
  intros PL Pg Pg' H. induction n as [ | n IH ]; [ exact H | ]. simpl.
  apply product_monotone; auto using power_proper, Rle_refl.
Qed.

(** Settles: COMPOSITION. A block of steps: if L leads every reference K i at the one function g, that is
    (K i) g <= L g, and g is above no loss at all, then T adaptive steps that the references dominate are bounded by L^T g;
    L need not dominate any step at other functions. *)
Theorem leader_block :
  forall {X : Type} (I : integral X) (T N : nat) (p q : list X -> X -> R) (K : nat -> profile) (L g : profile) (tau : R),
  (forall h, density I (p h)) -> (forall h, density I (q h)) -> (0 < N)%nat -> 0 <= tau ->
  (forall i, (i < N)%nat -> proper (K i) /\ forall y, 0 <= y -> pos (1 - y) <= value (K i) y) ->
  proper L -> proper g -> (forall y, 0 <= y -> pos (1 - y) <= value g y) ->
  (forall i y, (i < N)%nat -> 0 <= y -> value (product (K i) g) y <= value (product L g) y) ->
  (forall h, (length h < T)%nat -> dominated I N K tau (p h) (q h)) ->
  forall y, 0 <= y -> sections I T (fun h => pos (joint p h - y * joint q h)) ->
  composed I T y p q <= value (power L T g) y + INR T * tau.
Proof.
  intros X I T N p q K L g tau Dp Dq HN Ht HK PL Pg Hg Lead Dom y Hy Sec.
  apply (adaptive_composition I T N p q (fun _ => K) (fun k => power L k g) tau); auto.
  - intros k _. now apply power_proper.
  - intros k i z _ Hi Hz. destruct (HK i Hi) as (PK & _).
    rewrite product_into_power by assumption.
    change (power L (S k) g) with (product L (power L k g)). rewrite (product_into_power L L) by assumption.
    apply power_monotone; auto using product_proper.
  - intros k h Hk. apply Dom. lia.
Qed.

(** Settles: COMPOSITION. Composed releases have a symmetric divergence: H_y(p||q) = 1 - y + y H_{1/y}(q||p), so that a
    bound for y >= 1 of both orders is one for all y. *)
Theorem composed_reversal :
  forall {X : Type} (I : integral X) (T : nat) (y : R) (p q : list X -> X -> R),
  0 < y -> (forall h, density I (p h)) -> (forall h, density I (q h)) ->
  sections I T (joint p) -> sections I T (joint q) -> sections I T (fun h => pos (joint q h - 1 / y * joint p h)) ->
  composed I T y p q = 1 - y + y * composed I T (1 / y) q p.
Proof.
  intros X I T y p q Hy Dp Dq Sp Sq S. unfold composed.
  assert (Mass : forall (u : list X -> X -> R) k h, (forall h, density I (u h)) -> iterated I k h (joint u) = joint u h).
  { intros u k h Du. revert h. induction k as [ | k IH ]; intro h; [ reflexivity | ]. simpl.
    destruct (Du h) as (_ & U1 & U2).
    transitivity (int I (fun x => joint u h * u h x)).
    - symmetry. apply int_ext; [ now apply intg_scal | ]. intro x. now rewrite IH.
    - rewrite int_scal by assumption. rewrite U2. ring. }
  set (f := fun h => 1 * (1 * joint p h + - y * joint q h) + y * pos (joint q h - 1 / y * joint p h)).
  assert (E : (fun h => pos (joint p h - y * joint q h)) = f).
  { apply FunctionalExtensionality.functional_extensionality. intro h. unfold f. rewrite pos_opp, <- pos_scale by lra.
    replace (y * (joint q h - 1 / y * joint p h)) with (- (joint p h - y * joint q h)) by (field; lra). ring. }
  rewrite E. unfold f. rewrite (iterated_lin I T [] 1 y) by (try apply sections_lin; assumption).
  rewrite (iterated_lin I T [] 1 (- y)) by assumption. rewrite !Mass by assumption. simpl joint. ring.
Qed.
